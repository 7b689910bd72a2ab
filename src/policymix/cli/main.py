"""The command line: what was typed becomes a command, a page or a short complaint."""

import signal
import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import CycloptsError, Parameter
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    UnknownCommandError,
    UnusedCliTokensError,
    ValidationError,
)

from policymix.cli.commands import EXAMPLES, app
from policymix.core.errors import PolicymixError, UsageError, did_you_mean
from policymix.core.terminal import readable, steady_output
from policymix.environments.own_code import run_own_code

NUMBERS = {int: "a whole number, such as 10", float: "a number, such as 2.5"}


class Terminated(KeyboardInterrupt):
    """Another program asked for an end, which is treated as if the user had."""


def _terminate(number: int, frame: object) -> None:
    del number, frame
    raise Terminated


def main() -> None:
    """Run `policymix`."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        with steady_output():
            status = obedience(sys.argv[1:])
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(status)


def obedience(tokens: Sequence[str]) -> int:
    """The exit status of what was typed; what went wrong is told in a sentence."""
    try:
        return obey(tokens)
    except (PolicymixError, OSError) as error:
        print(f"policymix: {readable(error)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt as stop:
        print("policymix: stopped; what was finished is kept", file=sys.stderr)
        number = signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT
        return 128 + number


def obey(tokens: Sequence[str]) -> int:
    """Do what was typed; the exit status."""
    if tokens[:1] == ["help"]:
        tokens = [*tokens[1:], "--help"]
    try:
        return app.meta(tokens, exit_on_error=False, print_error=False) or 0
    except CycloptsError as error:
        words = " ".join(["policymix", *(error.command_chain or ())])
        raise UsageError(f"{complaint_of(error)}\nMore: {words} --help") from None


LOAD = "Your own Python file or module, run first: methods, domains that it registers."
app.meta.suppress_keyboard_interrupt = False


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    load: Annotated[
        tuple[str, ...],
        Parameter(metavar="FILE", help=LOAD, show_default=False),
    ] = (),
) -> int | None:
    """Run the user's own code, then the command."""
    for place in load:
        run_own_code(place)
    command, bound, _ = app.parse_args(tokens)
    return command(*bound.args, **bound.kwargs)


def complaint_of(error: CycloptsError) -> str:
    """The parser's sentence, or a shorter one that says what would be right."""
    words = " ".join(error.command_chain or ())
    unused = error.unused_tokens or [""]
    example = f"\nFor example: {EXAMPLES[words][0]}" if words in EXAMPLES else ""
    match error:
        case UnknownCommandError() if unused[0].startswith("-"):
            guess = did_you_mean(unused[0], ("--help", "--version"))
            return f"there is no option {unused[0]} without a command.{guess}"
        case MissingArgumentError(argument=argument) if argument and error.app:
            known = error.app.assemble_argument_collection(parse_docstring=True)
            meaning = next(a.parameter.help for a in known if a.name == argument.name)
            metavar = argument.parameter.metavar or ""
            named = argument.name.startswith("-") and metavar
            value = f"{argument.name} {metavar}" if named else argument.name
            return f"{value} is missing: {meaning}{example}"
        case UnusedCliTokensError():
            return f"{unused[0]!r} is a word too many.{example}"
        case ValidationError(argument=argument, exception_message=why) if argument:
            values = " ".join(token.value for token in argument.tokens)
            return f"{argument.name} {values}: {why}"
        case CoercionError(target_type=kind, token=token) if token and kind in NUMBERS:
            return f"{token.keyword} {token.value}: this must be {NUMBERS[kind]}"
    return str(error)
