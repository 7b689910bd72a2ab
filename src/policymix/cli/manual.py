"""What `policymix` says of itself: a short overview, and help that is complete."""

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policymix import __version__
from policymix.environments.registry import ABOUT as REGISTERED

ABOUT = "Learn a new task from several simulators or trained policies."
START = (
    "policymix demo",
    "policymix sources show cartpole",
    "policymix run cartpole --methods mars scratch --trials 4 --out my-run",
)
DOMAINS = tuple(REGISTERED.items())
DOCUMENTATION = "docs/ in the repository; as a site: make docs"


def overview(commands: Mapping[str, Any]) -> str:
    """What it is, the commands in a line each, and how to begin."""
    summaries = [(name, paragraphs(command)[0]) for name, command in commands.items()]
    more = [
        ("policymix COMMAND --help", "a command, its options and examples"),
        ("policymix --help", "all commands at length"),
        ("documentation", DOCUMENTATION),
    ]
    return _lines(
        *_filled(f"policymix {__version__}: {ABOUT[0].lower()}{ABOUT[1:]}"),
        *("", "Commands", *_columns(summaries)),
        *("", "Start with", *_indented(START)),
        *("", "More", *_columns(more)),
    )


def manual(
    commands: Mapping[str, Any], program: str = "policymix", about: str = ABOUT
) -> str:
    """All commands at length, with examples; no options of theirs."""
    more = [
        (f"{program} COMMAND --help", "a command, its options and examples"),
        ("policymix --version", "the version"),
        ("documentation", DOCUMENTATION),
    ]
    lines = [f"usage: {program} COMMAND [OPTIONS]", "", *_filled(about)]
    for name, command in commands.items():
        lines += ["", name]
        for paragraph in paragraphs(command):
            lines += [*_filled(paragraph, "    "), ""]
        lines += _indented(command.examples, "      ")
    lines += ["", "Domains", *_columns(DOMAINS), "", "More", *_columns(more)]
    return _lines(*lines)


def command_page(help_text: str, command: Any) -> str:
    """The help that tyro wrote for a command, wrapped, and examples to copy."""
    for paragraph in paragraphs(command):
        help_text = help_text.replace(paragraph, _lines(*_filled(paragraph)))
    usage, *rest = help_text.rstrip("\n").split("\n")
    domains = ("", "Domains", *_columns(DOMAINS)) if "DOMAIN" in usage else ()
    title = "Examples" if len(command.examples) > 1 else "Example"
    return _lines(
        *_filled(usage, after=" " * len("usage: ")),
        *rest,
        *domains,
        *("", title, *_indented(command.examples)),
    )


def paragraphs(command: Any) -> list[str]:
    """The docstring of a command, a line for each paragraph."""
    text = inspect.getdoc(command) or ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _filled(text: str, before: str = "", after: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        width=max(40, shutil.get_terminal_size().columns - 1),
        initial_indent=before,
        subsequent_indent=before if after is None else after,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _indented(lines: Sequence[str], before: str = "  ") -> list[str]:
    """As they are, however long: they are to be copied."""
    return [f"{before}{line}" for line in lines]


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names and what they mean, side by side or, where it is narrow, in turn."""
    rows = list(rows)
    width = 2 + max(len(name) for name, _ in rows) + 2
    lines = []
    for name, meaning in rows:
        if width > shutil.get_terminal_size().columns // 2:
            lines += [f"  {name}", *_filled(meaning, " " * 6)]
        else:
            lines += _filled(meaning, f"  {name}".ljust(width), " " * width)
    return lines
