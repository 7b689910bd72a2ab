"""The command line: what was typed becomes a command, a page or a short complaint."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

import tyro
from tyro.conf import DisallowNone, FlagCreatePairsOff, OmitArgPrefixes

from policymix import __version__
from policymix.cli.arguments import COMMANDS, DOMAINS
from policymix.cli.manual import command_page, manual, overview
from policymix.cli.usage import check, explain
from policymix.core.errors import PolicymixError, UsageError, closest

HELP = ("--help", "-h", "help")
VERSION = ("--version", "-V")
SOURCES = {words: COMMANDS[words] for words in COMMANDS if words.startswith("sources ")}


def main() -> None:
    """Run `policymix`."""
    try:
        status = obey(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(status)
    except UsageError as error:
        print(f"policymix: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # whoever reads, for instance head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (PolicymixError, OSError) as error:
        print(f"policymix: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("policymix: stopped; what was finished is kept", file=sys.stderr)
        sys.exit(130)


def obey(arguments: Sequence[str]) -> int:
    """Do what was typed; the exit status."""
    page = general_page(arguments)
    if page is not None:
        print(page)
        return 0
    if arguments[0] in HELP:
        arguments = [*arguments[1:], "--help"]
    words = find_command(arguments)
    command = parse(words, arguments[len(words.split()) :])
    if isinstance(command, str):
        print(command)
        return 0
    check(command)
    from policymix.core.devices import use_every_core

    use_every_core()
    return command.run()


def general_page(arguments: Sequence[str]) -> str | None:
    """What there is to say without a command; None if there is one."""
    match list(arguments):
        case []:
            return overview(COMMANDS)
        case [first, *_] if first in VERSION:
            return f"policymix {__version__}"
        case [first] if first in HELP:
            return manual(COMMANDS)
        case ["sources"] | ["sources", "--help" | "-h" | "help"] | ["help", "sources"]:
            about = "Train source libraries, or look at them."
            return manual(SOURCES, "policymix sources", about)
    return None


def find_command(arguments: Sequence[str]) -> str:
    """The words that name the command."""
    for words in COMMANDS:
        if list(arguments[: len(words.split())]) == words.split():
            return words
    typed = " ".join(arguments[:2] if arguments[0] == "sources" else arguments[:1])
    if typed.startswith("-"):
        meant = closest(typed.lstrip("-"), ("help", "version"))
        guess = f" Did you mean '--{meant}'?" if meant else ""
        raise UsageError(
            f"there is no option {typed!r} without a command.{guess}\n"
            "Options follow the command: policymix COMMAND [OPTIONS]"
        )
    raise UsageError(
        f"there is no command {typed!r}.{command_meant(arguments)}\n"
        f"Commands: {', '.join(COMMANDS)}"
    )


def command_meant(arguments: Sequence[str]) -> str:
    """A guess at the command, also from its last word or from a domain's name."""
    first, *others = arguments
    ways = {words.split()[-1]: words for words in COMMANDS}
    ways |= {"sources": "sources", "version": "--version"}
    ways |= {name: f"run {name}" for name in DOMAINS}
    meant = closest(first, ways)
    if meant == "sources" and others:
        ways = {words: words for words in SOURCES}
        ways |= {f"sources {name}": f"sources show {name}" for name in DOMAINS}
        meant = closest(f"sources {others[0]}", ways)
    return f" Did you mean {ways[meant]!r}?" if meant else ""


def parse(words: str, tokens: Sequence[str]) -> Any:
    """The command with its arguments, or its help."""
    command, refusal = COMMANDS[words], io.StringIO()
    page = io.TextIOWrapper(io.BytesIO(), encoding=sys.stdout.encoding)
    try:
        with contextlib.redirect_stdout(page), contextlib.redirect_stderr(refusal):
            return tyro.cli(
                command,
                prog=f"policymix {words}",
                args=tokens,
                config=(OmitArgPrefixes, FlagCreatePairsOff, DisallowNone),
            )
    except SystemExit as end:
        if not end.code:
            page.seek(0)
            return command_page(page.read(), command)
    complaint = explain(command, tokens)
    if complaint is None:
        raise UsageError(f"this was not understood:\n{refusal.getvalue()}")
    raise UsageError(f"{complaint}\nAll options: policymix {words} --help")
