"""The directive `command`: what a command of `policymix` says of itself.

Text and examples are the command's; its options are read from what `--help` prints
while the pages are built. A help text of another form stops the build.
"""

import contextlib
import io
import os
import re
import sys
from typing import Any
from unittest.mock import patch

from docutils import nodes
from policymix.cli.manual import paragraphs
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from policymix.cli.main import COMMANDS, main

FRAME = re.compile(r"^╭─ ([\w ]+) ─+╮\n(.*?)^╰─+╯\n", re.MULTILINE | re.DOTALL)
HELP = "-h, --help"


def help_of(words: str) -> str:
    """What `policymix … --help` prints on a very wide terminal."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        patch.object(sys, "argv", ["policymix", *words.split(), "--help"]),
        patch.dict(os.environ, {"COLUMNS": "1000", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        main()
    printed.seek(0)
    return printed.read()


def options_of(help_text: str) -> list[tuple[str, str]]:
    """What can be typed after a command, and what it means."""
    options: list[tuple[str, str]] = []
    frames = dict(FRAME.findall(help_text))
    if not {"options"} <= set(frames) <= {"options", "positional arguments"}:
        raise ValueError(f"a help text of an unknown form:\n{help_text}")
    for line in "".join(frames.values()).splitlines():
        text = line.removeprefix("│ ").removesuffix("│").rstrip()
        if text.startswith(" "):
            typed, meaning = options.pop()
            options.append((typed, f"{meaning} {text.strip()}".strip()))
        else:
            typed, _, meaning = text.partition("  ")
            options.append((typed, meaning.strip()))
    return [option for option in options if option[0] != HELP]


def paragraph(text: str) -> nodes.paragraph:
    """Plain text with `code` in it."""
    parts = re.split(r"`(.+?)`", text)
    written = [
        nodes.literal(part, part) if place % 2 else nodes.Text(part)
        for place, part in enumerate(parts)
    ]
    return nodes.paragraph(text, "", *written)


class Command(SphinxDirective):
    """What a command is for, examples, and its options."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Ask the command."""
        words = self.arguments[0]
        examples = "\n".join(COMMANDS[words].examples)
        options = nodes.definition_list()
        for typed, meaning in options_of(help_of(words)):
            term = nodes.term("", "", nodes.literal(typed, typed))
            definition = nodes.definition("", paragraph(meaning))
            options += nodes.definition_list_item("", term, definition)
        return [
            *(paragraph(text) for text in paragraphs(COMMANDS[words])),
            nodes.literal_block(examples, examples, language="bash"),
            options,
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
