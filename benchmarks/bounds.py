"""Build the wheel and the sdist, install each with the oldest or newest dependencies.

    python benchmarks/bounds.py                       # this Python, newest
    python benchmarks/bounds.py --lowest              # lower bounds of pyproject
    python benchmarks/bounds.py --python python3.13 --sdist
    python benchmarks/bounds.py --here                # what is installed here, as CI

What is installed is then used from an empty folder: help, sources, a short run, its
report.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
USES = (
    ("--version",),
    ("sources", "show", "maze"),
    ("run", "maze", "--steps", "200", "--trials", "2", "--out", "run"),
    ("run", "cartpole", "--steps", "200", "--trials", "2", "--out", "cart"),
    ("report", "run"),
)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--lowest", action="store_true", help="oldest dependencies")
    options.add_argument("--sdist", action="store_true", help="install from source")
    options.add_argument("--here", action="store_true", help="no new dependencies")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="policymix-bounds-") as place:
        return try_out(Path(place), asked)


def try_out(place, asked):
    package = build(place, "*.tar.gz" if asked.sdist else "*.whl")
    print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
    if asked.here:
        return try_here(place, package)
    call(asked.python, "-m", "venv", place / "venv")
    binaries = place / "venv" / "bin"
    pins = lowest() if asked.lowest else []
    began = time.monotonic()
    call(binaries / "pip", "install", "--quiet", package, *pins)
    call(binaries / "pip", "check")
    print(f"installed in {time.monotonic() - began:.0f} s")
    use_all(place, binaries / "policymix")
    versions = call(binaries / "pip", "freeze", quiet=True)
    names = {re.split(r"[<>=\[]", line)[0].lower() for line in dependencies()}
    used = [v for v in versions.splitlines() if v.split("==")[0].lower() in names]
    print(call(binaries / "python", "--version", quiet=True).strip(), *used)
    return 0


def try_here(place, package):
    """The package alone is installed, in a folder that comes before all others."""
    there = place / "there"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
    call(*pip, "--target", there, package)
    asking = "import policymix; print(policymix.__file__)"
    found = call(sys.executable, "-c", asking, path=there, cwd=place, quiet=True)
    if not Path(found.strip()).is_relative_to(there):
        sys.exit(f"{found.strip()} was used instead of {package.name}")
    use_all(place, sys.executable, "-m", "policymix", path=there)
    return 0


def use_all(place, *command, path=None):
    work = place / "work"
    work.mkdir()
    for use in USES:
        call(*command, *use, cwd=work, quiet=True, path=path)
        print("policymix", *use, "… ok", flush=True)


def build(place, kind):
    """The package; a wheel is made from the sdist, so that nothing is missing there."""
    call(sys.executable, "-m", "venv", place / "tools")
    call(place / "tools" / "bin" / "pip", "install", "--quiet", "build")
    python = place / "tools" / "bin" / "python"
    call(python, "-m", "build", "--outdir", place / "dist", ROOT, quiet=True)
    return next((place / "dist").glob(kind))


def dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["dependencies"]


def lowest():
    """name>=version,<bound → name==version."""
    found = (re.match(r"([\w-]+)>=([\d.]+)", line) for line in dependencies())
    return [f"{match[1]}=={match[2]}" for match in found if match]


def call(*words, cwd=ROOT, quiet=False, path=None):
    """Run a command; what it said, or all of it and an end if it failed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"PYTHONPATH": str(path)} if path else {}
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    if not quiet and done.stdout.strip():
        print(done.stdout.strip())
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
