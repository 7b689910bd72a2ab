"""What may be given to a training; of anything else a sentence is said."""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from policymix.beliefs.mixture import AbstractMixture
from policymix.core.errors import PolicymixError
from policymix.core.settings import Settings
from policymix.sources.library import SourceLibrary
from policymix.storage.records import conforms

POSITIVE = (
    "steps",
    "evaluate_every",
    "evaluation_episodes",
    "final_episodes",
    "batch",
    "capacity",
    "refresh_every",
    "learn_every",
    "epochs",
    "heads",
)
"""Settings that are at least 1."""
WITHIN = {
    "learning_rate": (0.0, math.inf),
    "shaped_rate": (0.0, math.inf),
    "mixture_rate": (0.0, math.inf),
    "exit_rate": (0.0, math.inf),
    "penalty": (0.0, math.inf),
    "clip": (0.0, math.inf),
    "prior_strength": (0.0, math.inf),
    "concentration": (0.0, math.inf),
    "discount": (0.0, 1.0),
    "epsilon_start": (0.0, 1.0),
    "epsilon_decay": (0.0, 1.0),
    "epsilon_floor": (0.0, 1.0),
    "target_rate": (0.0, 1.0),
    "guidance": (0.0, 1.0),
    "gate_keep": (0.0, 1.0),
    "mapse_reuse": (0.0, 1.0),
    "ucb_reuse": (0.0, 1.0),
    "prql_reuse": (0.0, 1.0),
    "jumpstart_shrink": (0.0, 1.0),
}
"""The least and the greatest that settings may be."""
LAYERS = ("layers", "mixture_layers")
"""Settings that are the widths of a network."""


def check_settings(settings: Any) -> None:
    """Complain of what is no settings, and of numbers that make no run."""
    if not isinstance(settings, Settings):
        raise PolicymixError(
            f"settings is {_brief(settings)}: it must be Settings, such as "
            "policymix.Settings(steps=1_000)"
        )
    for field in fields(settings):
        value, kind = getattr(settings, field.name), field.type
        if not conforms(value, kind):
            wanted = getattr(kind, "__name__", kind)
            raise PolicymixError(f"{field.name} is {value!r}: it must be {wanted}")
        if isinstance(value, float) and not math.isfinite(value):
            raise PolicymixError(f"{field.name} is {value!r}: it must be finite")
    for name in POSITIVE:
        check_positive(name, getattr(settings, name))
    for name, limits in WITHIN.items():
        _check_within(name, getattr(settings, name), *limits)
    for name in LAYERS:
        for width in getattr(settings, name) or ():
            check_positive(f"a width of {name}", width)
    updates = settings.updates
    if updates not in ("step", "episode") and not (
        isinstance(updates, int) and updates > 0
    ):
        raise PolicymixError(
            f'updates is {updates!r}: it must be "step", "episode" or the number of '
            "updates after each episode"
        )
    for name in ("batch", "capacity"):
        if getattr(settings, name) < settings.learn_every:
            raise PolicymixError(
                f"learn_every is {settings.learn_every}, but {name} is "
                f"{getattr(settings, name)}: every update learns from all samples "
                f"since the one before. Use a larger {name}, or a smaller learn_every"
            )


def _check_within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        limits = f"{least:g} … {most:g}" if most < math.inf else f"at least {least:g}"
        raise PolicymixError(f"{name} is {value!r}: it must be {limits}")


def check_cores(cores: Any) -> None:
    """Complain of what is no number of cores."""
    if cores is None:
        return
    if not conforms(cores, int):
        raise PolicymixError(f"cores is {cores!r}: it must be a whole number, or None")
    check_positive("cores", cores)


def check_recipe(method: Any) -> None:
    """Complain of what is neither a method's name nor a recipe."""
    if not isinstance(method, str) and not callable(method):
        raise PolicymixError(
            f"the method is {_brief(method)}: it must be a name, such as 'mars', or a "
            "recipe, which is a function"
        )


def a_mixture(
    given: Any, library: SourceLibrary, settings: Settings
) -> AbstractMixture:
    """What was given, or what it makes; a complaint if that is no mixture.

    A mixture that can be called is a mixture all the same.
    """
    if callable(given) and not isinstance(given, AbstractMixture):
        given = given(library, settings)
    if isinstance(given, AbstractMixture):
        return given
    raise PolicymixError(
        f"mixture is {_brief(given)}: it must be a mixture, or a function of the "
        "sources and the settings that makes one"
    )


def callbacks_of(given: Any) -> tuple[Callable[..., Any], ...]:
    """One callback or several, or a complaint of what cannot be called."""
    found = tuple(given) if isinstance(given, tuple | list) else (given,)
    for each in found:
        if not callable(each) or isinstance(each, type):
            raise PolicymixError(
                f"the callback is {_brief(each)}: it must be a function of a "
                'milestone, such as policymix.CSVLogger("log.csv")'
            )
    return found


def check_positive(name: str, number: Any) -> None:
    """Complain of what is no whole number of at least 1."""
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise PolicymixError(f"{name} is {_brief(number)}: it must be a whole number")
    if number < 1:
        raise PolicymixError(f"{name} is {number}: it must be at least 1")


def _brief(value: Any) -> str:
    return f"{value!r:.40}"
