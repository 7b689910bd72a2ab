"""A starting point for a task of one's own: a commented file that runs as it is."""

from pathlib import Path

from policymix.storage.folders import write_folder

STARTING_POINT = Path(__file__).parent / "start" / "my_task.py.txt"


def new(folder: Path) -> None:
    """Write it, and say what can be typed next."""
    name = STARTING_POINT.name.removesuffix(".txt")
    write_folder(folder, {name: STARTING_POINT.read_bytes()})
    print(f"written: {folder / name}. It runs as it is; then make it yours:")
    print(f"  policymix run {folder / name} --steps 5000 --trials 4 --out my-run")
    print("  policymix report my-run")
