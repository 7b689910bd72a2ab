"""Every link of a built site leads somewhere: `check_links.py FOLDER`.

Reads all HTML files below a folder and follows each `href`, `src` and `srcset` that
stays within it, to the file and, where there is one, to the #anchor. Prints page and
link of those that lead nowhere, and of those that would need a network to show the page
(scripts, styles and pictures of other hosts); exit status 1 if there are any.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = ("img", "script", "link", "source", "iframe", "video", "audio")
"""Tags whose addresses a browser loads by itself."""


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str):
        super().__init__()
        self.links: set[tuple[str, bool]] = set()
        """Address, and whether it is loaded with the page."""
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses and anchors."""
        loaded = tag in LOADED
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src"):
                self.links.add((value or "", loaded))
            elif name == "srcset":
                parts = (value or "").split(",")
                self.links.update((part.split()[0], loaded) for part in parts)


def dead_links(folder: Path) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    pages = {
        path.resolve(): Page(path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.html"))
    }
    for path, page in pages.items():
        for link, loaded in sorted(page.links):
            problem = problem_of(link, loaded, path, pages)
            if problem:
                yield f"{path.relative_to(folder.resolve())}: {link} ({problem})"


def problem_of(
    link: str, loaded: bool, path: Path, pages: dict[Path, Page]
) -> str | None:
    """What is wrong with a link of a page."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https") or parts.netloc:
        return "needs a network" if loaded else None
    if parts.scheme:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if target in pages and anchor not in pages[target].anchors:
        return "no such anchor"
    return None


if __name__ == "__main__":
    dead = list(dead_links(Path(sys.argv[1])))
    sys.exit("\n".join(["links that lead nowhere:", *dead]) if dead else 0)
