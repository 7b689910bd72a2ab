"""Asking before a program gives what asking in its middle gives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.encoders import OneHot
from policymix.core.kernels import Gaussian
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.asking import Questions, without_host
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary

PLANE = TaskSpec(Box((-1.0,) * 2, (1.0,) * 2), Discrete(3))
STATES = TaskSpec(Discrete(5), Discrete(3))
LUCK = np.random.default_rng(0)


def branching(obs):
    return 2 if obs[0] > 0.3 else int(obs[1] > 0)


def shares(obs):
    return [0.5, 0.5, 0.0] if obs[0] > 0 else [0.0, 0.25, 0.75]


def sliding(obs, action):
    obs += 0.1 * (float(action) - 1)
    return np.round(obs, 3)


def closeness(obs, action, next_obs) -> Any:
    return -float(abs(next_obs[0] - obs[0])) * (1 + int(action))


def on_a_plane():
    """Host, JAX and host again; two share their dynamics, so they are stacked."""
    return [
        SourceTask("a", branching, sliding, Gaussian(jnp.array(2.0))),
        SourceTask("b", lambda obs: jnp.argmax(obs), lambda obs, action: 0.9 * obs),
        SourceTask("c", shares, LogDensity(closeness)),
        SourceTask("d", branching, sliding, Gaussian(jnp.array(5.0))),
    ]


def on_states():
    return [
        SourceTask("a", lambda s: 1 if s == 2 else 0, lambda s, a: {0: s}.get(a, 0)),
        SourceTask("b", np.arange(5) % 3, np.tile(np.arange(5)[:, None], 3)),
    ]


def rows_of(spec) -> Any:
    if spec is STATES:
        return LUCK.integers(5, size=(2, 12)).astype(np.int32)
    return LUCK.uniform(-1, 1, (2, 12, 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("sources", "spec", "encoder"),
    [(on_a_plane, PLANE, None), (on_states, STATES, OneHot(5))],
    ids=["vectors", "states"],
)
def test_what_was_asked_before_is_what_is_asked_in_the_middle(sources, spec, encoder):
    library = SourceLibrary(sources(), encoder=encoder).for_target(spec)
    experts, questions = library.experts, Questions(library.experts)
    told, (obs, next_obs) = without_host(experts), rows_of(spec)
    steps: Any = (obs, np.arange(12, dtype=np.int32) % 3, next_obs)

    advice = questions.advice(obs.astype(np.float32))  # as the host loop has states
    one_by_one = [questions.advice(row[None])[0] for row in obs]
    np.testing.assert_array_equal(advice, one_by_one)
    found = jax.jit(jax.vmap(told.advise))(obs, advice)
    np.testing.assert_array_equal(found, jax.vmap(experts.advise)(obs))

    answers = questions.predictions(*steps)
    one_by_one = [
        questions.predictions(*(part[None] for part in step))[0]
        for step in zip(*steps, strict=True)
    ]
    np.testing.assert_array_equal(answers, one_by_one)
    found = jax.jit(jax.vmap(told.log_likelihoods))(*steps, answers)
    expected = jax.vmap(experts.log_likelihoods)(*steps)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_program_does_not_depend_on_the_functions():
    def library(threshold):
        def policy(obs):
            return 2 if obs[0] > threshold else 0

        return SourceLibrary([SourceTask("mine", policy, sliding)]).for_target(PLANE)

    one, other = (without_host(library(x).experts) for x in (0.1, 0.2))
    assert hash(one.policies) == hash(other.policies)
    assert one.policies == other.policies


def test_nobody_is_asked_where_all_is_compiled():
    source = SourceTask("b", lambda obs: jnp.argmax(obs), lambda obs, action: obs)
    questions = Questions(SourceLibrary([source]).for_target(PLANE).experts)
    assert questions.widths == (0, 0, 0)
    assert questions.advice(np.zeros((4, 2), np.float32)).shape == (4, 0)
    assert Questions(None).widths == (0, 0, 0)
