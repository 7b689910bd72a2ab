"""Weighed sources plus a residual: what it acts as, and what learns."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.base import Experience
from policymix.agents.dqn import DQN
from policymix.agents.multipolar import Aggregate, Multipolar
from policymix.core.errors import PolicymixError
from policymix.core.networks import MLP
from policymix.training.setup import build_setup
from policymix.training.train import train

from support.probes import HELPFUL, LONG, MIXED, QUICK, batch_of, best_return

OBS = jnp.linspace(-1.0, 1.0, 20).reshape(10, 2)
ADVICE = jax.nn.one_hot(jax.random.randint(jax.random.key(1), (10, 3), 0, 4), 4)
AGENT = Multipolar(DQN(0.9, (2, 8, 4), learning_rate=1e-2, penalty=0.0), 3)


def values(state, agent=AGENT, advice=ADVICE):
    return np.asarray(jax.vmap(agent.action_values, (None, 0, 0))(state, OBS, advice))


def with_trusts(state, trusts):
    return eqx.tree_at(lambda s: s.online.parameters.trusts, state, jnp.asarray(trusts))


def test_at_first_the_sources_vote():
    state = AGENT.init(jax.random.key(0))
    np.testing.assert_allclose(values(state), ADVICE.mean(axis=1), atol=1e-6)
    np.testing.assert_array_equal(AGENT.alone_values(state, OBS[0]), 0.0)


@pytest.mark.parametrize("only", range(3))
def test_without_a_residual_and_with_one_trusted_it_acts_as_that_source(only):
    state = with_trusts(
        AGENT.init(jax.random.key(0)), np.eye(3)[only][:, None].repeat(4, 1)
    )
    np.testing.assert_array_equal(
        values(state).argmax(axis=1), ADVICE[:, only].argmax(axis=1)
    )


def test_without_trust_it_is_a_dqn():
    """The same targets, and the same update of the residual."""
    plain = DQN(0.9, (2, 8, 4), learning_rate=1e-2, penalty=0.0)
    state = with_trusts(AGENT.init(jax.random.key(0)), np.zeros((3, 4)))
    state = AGENT.refresh(state)
    network = state.online.parameters
    own = plain.begin(MLP(network.weights, network.biases))
    steps = [(o, i % 4, 1.0, OBS[9 - i], i == 3, False) for i, o in enumerate(OBS)]
    batch = batch_of(*steps)
    experience = Experience(batch, advice=ADVICE, next_advice=ADVICE[::-1])
    learned, loss = AGENT.update(state, experience)
    expected, plain_loss = plain.update(own, Experience(batch))
    np.testing.assert_allclose(loss, plain_loss, rtol=1e-6)
    for mine, theirs in zip(
        learned.online.parameters.weights + learned.online.parameters.biases,
        expected.online.parameters.weights + expected.online.parameters.biases,
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_the_gradient_reaches_the_weights_of_advice_that_was_taken():
    """Action 2 is always taken: W learns where it was advised, and nowhere else."""
    state = AGENT.init(jax.random.key(0))
    batch = batch_of(*((o, 2, 5.0, o, True, False) for o in OBS))
    learned, _ = AGENT.update(
        state, Experience(batch, advice=ADVICE, next_advice=ADVICE)
    )
    network = learned.online.parameters
    assert isinstance(network, Aggregate)
    moved = np.asarray(network.trusts) != 1.0
    np.testing.assert_array_equal(moved[:, [0, 1, 3]], False)
    np.testing.assert_array_equal(moved[:, 2], ADVICE[..., 2].any(axis=0))
    assert moved.any()


@pytest.mark.learning
@pytest.mark.parametrize("task", [HELPFUL, MIXED], ids=["one source", "two"])
def test_a_short_task_is_learned(task):
    settings = replace(QUICK, layers=(16,), learning_rate=5e-3, refresh_every=50)
    rows = train(
        task, "multipolar", steps=2_000, settings=settings, trials=1, progress=False
    ).rows
    assert rows[-1].score == pytest.approx(best_return(LONG), rel=1e-5)


def test_a_table_is_refused():
    with pytest.raises(PolicymixError, match=r"layers=\(64, 64\)"):
        build_setup(MIXED, "multipolar", replace(QUICK, layers=None))
