"""Folders that somebody tampered with."""

import hashlib
import json

from policymix.storage.folders import ARRAYS, MANIFEST, canonical


def sign(folder, edit, content=None):
    """Edit the manifest and make its digests right again, as a forger would."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    del manifest["digest"]
    edit(manifest)
    if content is not None:
        (folder / ARRAYS).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        manifest["arrays"] = {"bytes": len(content), "sha256": digest}
    manifest["digest"] = hashlib.sha256(canonical(manifest)).hexdigest()
    (folder / MANIFEST).write_bytes(canonical(manifest))
