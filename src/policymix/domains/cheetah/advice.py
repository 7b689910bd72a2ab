"""Transfer-Cheetah with sources that are good for nothing."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import Identity
from policymix.core.networks import MLP, init_mlp
from policymix.domains.cheetah.experiment import CHEETAH
from policymix.domains.cheetah.task import FAMILY, JOINTS
from policymix.environments.study import ADVICE_METHODS
from policymix.sources.dynamics import NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.sources.policies import SquashedPolicy

INPUTS, ACTIONS = 2 * JOINTS + 1, 6


def useless_sources() -> SourceLibrary:
    """Networks of random weights, and models by which everything is thrown about."""
    shifts = np.random.default_rng(0).normal(size=(len(FAMILY.sources), INPUTS))
    sources = []
    for seed, (name, shift) in enumerate(zip(FAMILY.sources, shifts, strict=True)):
        network = init_mlp(jax.random.key(seed), (INPUTS, 64, 64, ACTIONS))
        bounds = -jnp.ones(ACTIONS), jnp.ones(ACTIONS)
        policy = SquashedPolicy(network, Identity(), *bounds)
        sources.append(SourceTask(name, policy, throwing(jnp.asarray(shift))))
    return SourceLibrary(sources)


def throwing(shift: jnp.ndarray) -> NetworkDynamics:
    """A state moves by the shift, whatever is done: one linear layer."""
    weight = jnp.eye(INPUTS, INPUTS + ACTIONS)
    return NetworkDynamics(MLP((weight,), (shift,)), Identity())


USELESS = replace(
    CHEETAH,
    name="cheetah-useless",
    shipped=useless_sources,
    right=None,
    study=replace(
        CHEETAH.study,
        title="Transfer-Cheetah, random policies and wrong dynamics",
        about=(
            "A half-cheetah runs around a track of 20 m, as fast as it can: gravity is "
            "9.81 on one half of the track and 3 on the other. Neither of two sources "
            "knows anything of it: policies are random, and models throw the cheetah "
            "about whatever it does."
        ),
        truth="",
        methods=tuple(name for name in ADVICE_METHODS if name != "vote"),
        claims=("ends-above-both",),
    ),
)
