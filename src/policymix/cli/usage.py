"""What is wrong with a command line, in a sentence, and what was probably meant."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from tyro.conf import Positional

from policymix.cli.rules import OneOf, Rule
from policymix.core.errors import closest

NUMBERS = {int: "a whole number, such as 10", float: "a number, such as 2.5"}


class Argument(NamedTuple):
    """A field of a command, as it is written on the command line."""

    field: str
    written: str
    """--option, or what stands for the value of a positional argument."""
    placeholder: str
    meaning: str
    kind: type
    many: bool
    positional: bool
    required: bool
    rules: tuple[Rule, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Those that may be given, if it takes names."""
        known = (rule.names for rule in self.rules if isinstance(rule, OneOf))
        return next(known, ())


def arguments_of(command: type) -> list[Argument]:
    """All arguments of a command."""
    hints = get_type_hints(command, include_extras=True)
    fields = dataclasses.fields(command)
    return [_argument(field, hints[field.name]) for field in fields]


def _argument(field: dataclasses.Field[Any], hint: Any) -> Argument:
    markers: Sequence[Any] = ()
    if get_origin(hint) is Annotated:
        hint, *markers = get_args(hint)
    kind = next((part for part in get_args(hint) if part is not type(None)), hint)
    shown = next((marker for marker in markers if hasattr(marker, "metavar")), None)
    placeholder = getattr(shown, "metavar", None) or kind.__name__.upper()
    meaning = getattr(shown, "help", None) or ""
    positional = Positional in markers
    return Argument(
        field=field.name,
        written=placeholder if positional else f"--{field.name}",
        placeholder=placeholder,
        meaning=(meaning[:1].lower() + meaning[1:]).rstrip("."),
        kind=kind,
        many=get_origin(hint) is tuple,
        positional=positional,
        required=field.default is dataclasses.MISSING,
        rules=tuple(marker for marker in markers if hasattr(marker, "check")),
    )


def check(command: Any) -> None:
    """Raise a UsageError if a value cannot be used, before anything is loaded."""
    for argument in arguments_of(type(command)):
        value = getattr(command, argument.field)
        for rule in argument.rules if value is not None else ():
            rule.check(argument.written, value)


def explain(command: Any, tokens: Sequence[str]) -> str | None:
    """Why these arguments of a command were refused; None when it cannot be told."""
    known = arguments_of(command)
    options = {each.written: each for each in known if not each.positional}
    for token in filter(_is_option, tokens):
        if _name(token) not in options:
            return _unknown_option(_name(token), list(options))
    given, loose = _sorted_out(tokens, options)
    extra = loose[sum(each.positional for each in known) :]
    wrong = _wrong_value(given, options)
    missing = _missing_place(known, given, loose)
    missing = missing or _missing_option(options, given, extra)
    if missing and not wrong:
        return f"{missing}\nFor example: {command.examples[0]}"
    return wrong or _extra_word(options, extra)


def _is_option(token: str) -> bool:
    return bool(re.match(r"--?[a-zA-Z]", token))


def _name(token: str) -> str:
    return token.partition("=")[0]


def _unknown_option(name: str, options: Sequence[str]) -> str:
    meant = closest(name.lstrip("-"), [option.lstrip("-") for option in options])
    there_are = f"There are {', '.join(options) or 'none'}"
    guess = f"Did you mean '--{meant}'?" if meant else there_are
    return f"there is no option {name!r}. {guess}"


def _sorted_out(
    tokens: Sequence[str], options: Mapping[str, Argument]
) -> tuple[dict[str, list[str]], list[str]]:
    """The values of the options that are given, and words that are of none."""
    given: dict[str, list[str]] = {}
    values, room, loose = [], 0.0, []
    for token in tokens:
        if _is_option(token):
            name, equals, value = token.partition("=")
            values = given.setdefault(name, [])
            values += [value] if equals else []
            room = _most_values(options[name]) - len(values)
        elif room > 0:
            values.append(token)
            room -= 1
        else:
            loose.append(token)
    return given, loose


def _most_values(option: Argument) -> float:
    return math.inf if option.many else float(option.kind is not bool)


def _wrong_value(
    given: Mapping[str, Sequence[str]], options: Mapping[str, Argument]
) -> str | None:
    for name, values in given.items():
        argument = options[name]
        if not values and not argument.many and argument.kind is not bool:
            return f"{name} needs a value: {name} {argument.placeholder}"
        for value in values:
            if argument.kind in NUMBERS and not _converts(argument.kind, value):
                return f"{name} is {value!r}: it must be {NUMBERS[argument.kind]}"
    return None


def _converts(kind: type, value: str) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True


def _missing_place(
    known: Sequence[Argument],
    given: Mapping[str, Sequence[str]],
    loose: Sequence[str],
) -> str | None:
    """A positional argument; an option that takes many values may have swallowed it."""
    for argument in [each for each in known if each.positional][len(loose) :]:
        swallowed = "".join(
            f"\nIf {value!r} is meant, write it before {option.written}"
            for option in known
            for value in given.get(option.written, ())
            if option.names and value not in option.names
        )
        return f"{argument.written} is missing: {argument.meaning}.{swallowed}"
    return None


def _missing_option(
    options: Mapping[str, Argument],
    given: Mapping[str, Sequence[str]],
    extra: Sequence[str],
) -> str | None:
    for name, argument in options.items():
        if argument.required and name not in given:
            guess = f" Did you mean '{name} {extra[0]}'?" if extra else ""
            said = f"{name} {argument.placeholder} is missing: {argument.meaning}."
            return said + guess
    return None


def _extra_word(options: Mapping[str, Argument], extra: Sequence[str]) -> str | None:
    if not extra:
        return None
    homes = [name for name, option in options.items() if extra[0] in option.names]
    guess = f" Did you mean '{homes[0]} {extra[0]}'?" if homes else ""
    return f"{extra[0]!r} is a word too many.{guess}"
