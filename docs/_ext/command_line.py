"""The directive `command`: what a command of `policymix` says of itself.

Text, options and examples are the command's own, read while the pages are built.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from cyclopts import App, Argument
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from policymix.cli.commands import EXAMPLES, app
from policymix.cli.main import launch


def command_of(words: str) -> App:
    """The command that these words name."""
    found = app
    for word in words.split():
        found = found[word]
    return found


def options_of(command: App) -> Iterator[tuple[str, str]]:
    """What can be typed after a command, and what it means."""
    arguments = command.assemble_argument_collection(parse_docstring=True)
    shared = App(default_command=launch).assemble_argument_collection()
    for argument in (*arguments, *shared):
        if argument.show:
            yield typed(argument), meaning(argument)


def typed(argument: Argument) -> str:
    """As it is written, with what stands for its value."""
    if not argument.name.startswith("-") or argument.hint is bool:
        return argument.name
    kinds = {int: "INT", float: "FLOAT"}
    return f"{argument.name} {argument.parameter.metavar or kinds[argument.hint]}"


def meaning(argument: Argument) -> str:
    """What it is for, and what it is when it is left out."""
    text, default = argument.parameter.help or "", argument.field_info.default
    choices = argument.get_choices()
    if choices:
        text += f" Some of {', '.join(choices)}."
    if argument.required:
        return f"{text} (required)"
    if (
        not argument.parameter.show_default
        and argument.parameter.show_default is not None
    ):
        return text
    values = default if isinstance(default, tuple) else (default,)
    return f"{text} (default: {' '.join(map(str, values))})"


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
        command, examples = command_of(words), "\n".join(EXAMPLES[words])
        text = inspect.getdoc(command.default_command) or ""
        options = nodes.definition_list()
        for option, said in options_of(command):
            term = nodes.term("", "", nodes.literal(option, option))
            definition = nodes.definition("", paragraph(said))
            options += nodes.definition_list_item("", term, definition)
        about = text.partition("Args:")[0].strip().split("\n\n")
        return [
            *(paragraph(" ".join(part.split())) for part in about),
            nodes.literal_block(examples, examples, language="bash"),
            options,
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
