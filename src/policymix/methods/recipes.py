"""The methods: recipes that combine a trust in sources, a form and a behaviour.

A new method is one function that returns a `Method`; see docs/extending.md.
"""

import re
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

import jax
import jax.numpy as jnp

from policymix.beliefs.build import make_global_mixture, make_vote
from policymix.beliefs.potentials import EXPLICIT, LOOKAHEAD, REWARD
from policymix.core.errors import PolicymixError, did_you_mean
from policymix.core.settings import Settings
from policymix.methods.behaviours import Reuse
from policymix.methods.leaders import UCB1, Gate, Softmax
from policymix.methods.method import Given, Method, Recipe
from policymix.methods.names import GROUP, method_names
from policymix.methods.rivals import Rivals
from policymix.methods.trust import ByArm, ByMixture, ByTruth, ByVote, Fixed

HEAD_START = 10
"""Episodes before the gate may leave the advice: a mixture has to learn first."""


def always() -> Gate:
    """Advice counts in every episode: a gate that is open both ways."""
    return Gate(advised=(1.0, 1.0))


def gate(settings: Settings) -> Gate:
    """For single sources: a fixed scale would follow bad advice for ever."""
    return Gate(
        bonus=settings.gate_bonus,
        keep=settings.gate_keep,
        burden=settings.gate_burden,
        margin=settings.gate_margin,
        patience=settings.gate_patience,
        start=HEAD_START,
    )


def scratch(given: Given) -> Method:
    """No transfer."""
    del given
    return Method()


def scratch_replay(given: Given) -> Method:
    """No transfer; a table repeats what it remembers, as a network does anyway."""
    del given
    return Method(replays=True)


def mars(given: Given) -> Method:
    """The mixture's advice, except where judges are sure of the learner's own action.

    See `agents.judged` and `methods.rivals`.
    """
    del given
    return Method(ByMixture(), leader=Rivals(), judged=True)


def mars_explicit(given: Given) -> Method:
    """Advice added to the learner's values with a fixed scale: it never gives way."""
    return Method(ByMixture(), EXPLICIT, given.settings.scale, leader=always())


def mars_lookahead(given: Given) -> Method:
    """The shaped reward, but act and bootstrap on Q' + cΦ."""
    scale = given.settings.scale
    return Method(ByMixture(), LOOKAHEAD, scale, leader=always(), shapes=True)


def mars_reward(given: Given) -> Method:
    """The shaped reward as the paper prints it."""
    scale = given.settings.scale
    return Method(ByMixture(), REWARD, scale, leader=always(), shapes=True)


def mars_printed(given: Given) -> Method:
    """Algorithm 2 to the letter: rewards are shaped once, when they are stored."""
    scale = given.settings.scale
    return Method(ByMixture(), REWARD, scale, leader=always(), printed=True)


def mixture_global(given: Given) -> Method:
    """`mars` with a mixture that is learned but is the same in every state."""
    return replace(mars(given), mixture=make_global_mixture)


def vote(given: Given) -> Method:
    """Do what most sources say; nothing is learned, and chance decides ties."""
    del given
    return Method(ByVote(), EXPLICIT, 1.0, own=0.0, leader=always(), mixture=make_vote)


def mapse(given: Given) -> Method:
    """With probability p_t do what a source drawn from the mixture would do."""
    reuse = Reuse(1.0, by_episode=given.settings.mapse_reuse)
    return Method(ByMixture(), reuse=reuse, leader=always())


def mapse_advised(given: Given) -> Method:
    """`mapse`, with its sources in tests as well: these act on Q + cΦ."""
    tested = jnp.asarray(given.settings.scale, float)
    return replace(mapse(given), tested=tested)


def follow(given: Given) -> Method:
    """Do what the mixture's choice says; no values of one's own."""
    del given
    return Method(ByMixture(), EXPLICIT, 1.0, own=0.0, leader=always())


def jumpstart(given: Given) -> Method:
    """The mixture's choice leads the first steps of an episode, fewer each time."""
    shrink = given.settings.jumpstart_shrink
    reuse = Reuse(1.0, guide=given.horizon, shrink=shrink)
    return Method(ByMixture(), reuse=reuse, leader=always())


def oracle(given: Given) -> Method:
    """The right source instead of a mixture, its advice added to the values."""
    if given.right_source is None:
        raise PolicymixError(
            "oracle needs a domain that knows its right source; this task has none. "
            "Choose another method, or give the domain a right_source"
        )
    trust = ByTruth(given.right_source, given.num_sources)
    settings = given.settings
    return Method(trust, EXPLICIT, settings.scale, leader=gate(settings))


def phi(source: int) -> Recipe:
    """One source alone, its advice added to the values; sources count from 1."""

    def recipe(given: Given) -> Method:
        alone = jax.nn.one_hot(source - 1, given.num_sources)
        settings = given.settings
        return Method(Fixed(alone), EXPLICIT, settings.scale, leader=gate(settings))

    return recipe


def ucb(given: Given) -> Method:
    """One source leads each episode, picked by UCB1, and is reused as MAPSE does."""
    n = given.num_sources
    reuse = Reuse(1.0, by_episode=given.settings.ucb_reuse)
    return Method(ByArm(n), reuse=reuse, leader=UCB1(jnp.ones(n)))


def prql(given: Given) -> Method:
    """Policy reuse (Fernández and Veloso 2006): sources or oneself, by softmax."""
    n, settings = given.num_sources, given.settings
    advised = jnp.append(jnp.ones(n), 0.0)
    reuse = Reuse(1.0, by_step=settings.prql_reuse)
    leader = Softmax(advised, growth=settings.prql_growth)
    return Method(ByArm(n), reuse=reuse, leader=leader)


def caps(given: Given) -> Method:
    """Options that are sources and primitive actions, see `agents.caps`."""
    del given
    return Method(options=True)


def multipolar(given: Given) -> Method:
    """The sources' actions by learned weights, plus a residual: `agents.multipolar`."""
    del given
    return Method(aggregates=True)


METHODS: dict[str, Recipe] = {
    "scratch": scratch,
    "scratch-replay": scratch_replay,
    "mars": mars,
    "mars-explicit": mars_explicit,
    "mars-lookahead": mars_lookahead,
    "mars-reward": mars_reward,
    "mars-printed": mars_printed,
    "mapse": mapse,
    "mapse-advised": mapse_advised,
    "caps": caps,
    "ucb": ucb,
    "follow": follow,
    "vote": vote,
    "mixture-global": mixture_global,
    "oracle": oracle,
    "prql": prql,
    "jumpstart": jumpstart,
    "multipolar": multipolar,
}
"""By the names of the command line; phi1, phi2, … are one source alone.
`register_method` adds to it, and so do the entry points of installed packages."""

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def register_method(name: str, recipe: Recipe) -> None:
    """Give a recipe a name, by which it can be run, saved and loaded.

    Args:
        name: small letters and digits, words joined by hyphens: "my-method".
        recipe: a function that takes what is `Given` and returns a `Method`.
    """
    if not NAME.fullmatch(name):
        raise PolicymixError(
            f"{name!r} is no name for a method: use small letters and digits, words "
            'joined by hyphens, as in "my-method"'
        )
    if name in METHODS or re.fullmatch(r"phi\d+", name):
        raise PolicymixError(
            f"the name {name!r} is taken: choose another than {', '.join(METHODS)}, "
            "phi1, phi2, …"
        )
    METHODS[name] = recipe


def recipes(num_sources: int) -> dict[str, Recipe]:
    """All recipes that are loaded, by name, those of single sources included."""
    return METHODS | {f"phi{i + 1}": phi(i + 1) for i in range(num_sources)}


def find_recipe(name: str, num_sources: int) -> Recipe:
    """The recipe of that name; a package that offers it is loaded now."""
    known = recipes(num_sources)
    if name in known:
        return known[name]
    for offered in entry_points(group=GROUP, name=name):
        register_method(name, _load(offered))
        return METHODS[name]
    names = tuple(dict.fromkeys([*known, *method_names()]))
    raise PolicymixError(
        f"there is no method {name!r}: choose {', '.join(names)}."
        f"{did_you_mean(name, names)}"
    )


def _load(offered: EntryPoint) -> Recipe:
    try:
        return offered.load()
    except Exception as error:
        package = offered.dist.name if offered.dist else "an installed package"
        raise PolicymixError(
            f"the method {offered.name!r} of {package} cannot be loaded from "
            f"{offered.value} ({type(error).__name__}: {error}). Mend or remove that "
            "package"
        ) from error
