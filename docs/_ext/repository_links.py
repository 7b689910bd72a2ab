"""Links of the pages to files that are not pages: source, results, folders.

A page says `../src/policymix/training/step.py`, which is right where Markdown is read
in the repository. In the built site that link leads to the highlighted source (a page
of `sphinx.ext.viewcode`), a link to a folder to a list of its files, one to a Markdown
file of the root to the page that includes it, and any other to a copy of the file.
"""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.viewcode import viewcode_anchor
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import copyfile, relative_uri

ROOT = Path(__file__).parents[2]
INCLUDED = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing"}
"""Pages that include a file of the root."""


def place_of(path: Path) -> str:
    """Where the built site has a file or a folder of the repository."""
    inside = path.relative_to(ROOT)
    if path.is_dir():
        return f"_repository/{inside.as_posix()}/index.html"
    if path.suffix == ".py":
        return f"_modules/{module_of(path).replace('.', '/')}.html"
    return f"_repository/{inside.as_posix()}"


def module_of(path: Path) -> str:
    """The name of a source file, with dots."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def linked(env: BuildEnvironment) -> set[Path]:
    """Files and folders that pages link to."""
    if not hasattr(env, "repository_links"):
        env.repository_links = set()  # pyright: ignore[reportAttributeAccessIssue]
    return env.repository_links  # pyright: ignore[reportAttributeAccessIssue]


def contents(folder: Path) -> list[Path]:
    """What a folder's page lists."""
    hidden = ("__pycache__", ".")
    return sorted(p for p in folder.iterdir() if not p.name.startswith(hidden))


def shown_files(env: BuildEnvironment) -> Iterator[Path]:
    """Files that are linked, or that are in a linked folder."""
    for path in linked(env):
        files: Iterable[Path] = contents(path) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file())


def page_of(path: Path, docs: Path) -> str | None:
    """The page that a Markdown file is, or that includes it."""
    if path.is_relative_to(docs):
        return path.relative_to(docs).with_suffix("").as_posix()
    return INCLUDED.get(str(path.relative_to(ROOT)))


class RepositoryLinks(SphinxTransform):
    """Replaces what MyST makes of a link to a file that is not a page."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Look at all links of a page."""
        kinds = (addnodes.pending_xref, addnodes.download_reference)
        for node in [n for kind in kinds for n in self.document.findall(kind)]:
            if node.get("reftype") == "myst":
                self.replace(node)

    def replace(self, node: nodes.Element) -> None:
        """Find out where a link leads."""
        docs, page = Path(self.env.srcdir), self.env.docname
        home = ROOT if page in INCLUDED.values() else (docs / page).parent
        target, _, heading = str(node["reftarget"]).partition("#")
        if node.get("refdomain") == "doc":
            home, target = docs, f"{target}.md"
        path = (home / target).resolve()
        if not target or not path.exists():
            return
        if path.suffix == ".md" and (known := page_of(path, docs)):
            if home == ROOT or not path.is_relative_to(docs):
                node["refdomain"], node["reftarget"] = "doc", known
                node["reftargetid"] = node.get("reftargetid") or heading or None
            return
        if (path.is_relative_to(docs) and home != ROOT) or path.suffix == ".md":
            return
        linked(self.env).add(path)
        uri = relative_uri(f"{page}.html", place_of(path))
        new = nodes.reference("", "", internal=True, refuri=uri)
        new += node.children
        node.replace_self(new)


def merge(app: Sphinx, env: BuildEnvironment, docs: Any, other: Any) -> None:
    """Take over what another process has read."""
    del app, docs
    linked(env).update(linked(other))


def add_sources(app: Sphinx, env: BuildEnvironment) -> None:
    """Let `viewcode` show source files."""
    del app
    modules: dict[str, Any] = getattr(env, "_viewcode_modules", {})
    env._viewcode_modules = modules  # pyright: ignore[reportAttributeAccessIssue]
    for path in shown_files(env):
        if path.suffix == ".py" and (name := module_of(path)) not in modules:
            analyser = ModuleAnalyzer.for_string(path.read_text("utf-8"), name)
            analyser.find_tags()
            modules[name] = (analyser.code, analyser.tags, {}, name)


def one_home(app: Sphinx, doctree: nodes.document) -> None:
    """Remove links to and from a name that is described under another module.

    From a page of source `viewcode` links back to one module only.
    """
    for anchor in list(doctree.findall(viewcode_anchor)):
        module = anchor["reftarget"].removeprefix("_modules/").replace("/", ".")
        _, _, used, described_in = app.env._viewcode_modules[module]  # pyright: ignore[reportAttributeAccessIssue]
        signature: Any = anchor.parent
        if signature["module"] != described_in:
            used.pop(anchor["refid"], None)
            signature.remove(anchor)


def copy_files(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Copy other files, and write a page for each folder."""
    for path in shown_files(app.env):
        if path.suffix != ".py":
            copy = Path(app.outdir, place_of(path))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copyfile(path, copy, force=True)
    folders = {path for path in linked(app.env) if path.is_dir()}
    for folder in sorted(folders):
        lines = "".join(
            f"<li>{line(path, folder, folders)}</li>" for path in contents(folder)
        )
        name = f"{folder.relative_to(ROOT).as_posix()}/"
        body = f"<h1><code>{escape(name)}</code></h1><ul>{lines}</ul>"
        page = place_of(folder).removesuffix(".html")
        yield page, {"title": name, "body": body}, "page.html"


def line(path: Path, folder: Path, folders: set[Path]) -> str:
    """A name in a folder's page; a folder without a page is no link."""
    name = f"<code>{escape(path.name)}{'/' if path.is_dir() else ''}</code>"
    if path.is_dir() and path not in folders:
        return name
    target = relative_uri(place_of(folder), place_of(path))
    return f'<a href="{escape(target)}">{name}</a>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_transform(RepositoryLinks)
    app.connect("doctree-read", one_home, priority=900)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", add_sources)
    app.connect("html-collect-pages", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
