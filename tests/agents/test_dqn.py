"""DQN on probe tasks whose values are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.base import Experience
from policymix.agents.dqn import DQN
from policymix.core.encoders import OneHot

from support.probes import batch_of, calm

START, MIDDLE = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])
GAMMA = 0.9


TWO_STEPS = batch_of(
    (START, 0, 0.0, MIDDLE, False, False),
    (START, 1, 0.5, MIDDLE, True, False),
    (MIDDLE, 0, 1.0, START, True, False),
    (MIDDLE, 1, 0.0, START, True, False),
)


def learned_values(agent, data, updates=3000):
    @eqx.filter_jit
    def train(state):
        def step(state, i):
            state = agent.update(state, Experience(data))[0]
            refreshed = agent.refresh(state)
            copy = i % 20 == 0
            return jax.tree.map(
                lambda a, b: jnp.where(copy, a, b), refreshed, state
            ), None

        return jax.lax.scan(step, state, jnp.arange(updates))[0]

    network = train(agent.init(jax.random.key(0))).online.parameters
    return np.array([network(START), network(MIDDLE)])


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("huber", [False, True])
def test_values_of_a_two_step_task(double, huber):
    agent = DQN(
        GAMMA, (2, 16, 2), learning_rate=3e-3, penalty=0.0, double=double, huber=huber
    )
    expected = [[GAMMA * 1.0, 0.5], [1.0, 0.0]]
    np.testing.assert_allclose(learned_values(agent, TWO_STEPS), expected, atol=0.02)


def test_truncation_bootstraps_and_termination_does_not():
    """Reward 1 for ever: worth 1/(1 − γ) when the horizon cuts it, 1 when it ends."""
    agent = DQN(GAMMA, (2, 16, 2), learning_rate=1e-2, penalty=0.0)
    data = batch_of(
        *((START, action, 1.0, START, False, True) for action in (0, 1)),
        *((MIDDLE, action, 1.0, START, True, False) for action in (0, 1)),
    )
    values = learned_values(agent, data, updates=6000)
    np.testing.assert_allclose(values[0], 10.0, atol=0.2)
    np.testing.assert_allclose(values[1], 1.0, atol=0.2)


def test_double_q_chooses_by_the_online_network(keys):
    agent = DQN(GAMMA, (2, 4, 2), double=True)
    state = agent.init(keys())._replace(target=agent.init(keys()).target)
    step = jax.tree.map(lambda x: x[0], TWO_STEPS)
    choice = int(jnp.argmax(state.online.parameters(MIDDLE)))
    expected = GAMMA * state.target(MIDDLE)[choice]
    np.testing.assert_allclose(agent.target(state, step, None), expected, rtol=1e-5)


def test_penalty_is_on_weights_not_biases(keys):
    network = DQN(GAMMA, (2, 4, 2)).init(keys()).target
    plain = DQN(GAMMA, (2, 4, 2), penalty=0.0)
    penalised = DQN(GAMMA, (2, 4, 2), penalty=0.1)
    squares = sum(float(jnp.sum(w**2)) for w in network.weights)
    given = (network, TWO_STEPS.obs, jnp.ones((4, 2)), jnp.ones((4, 2)))
    difference = penalised.loss(*given) - plain.loss(*given)
    np.testing.assert_allclose(difference, 0.1 * squares, rtol=1e-4)


def test_exploration_is_as_often_as_epsilon(keys):
    agent = DQN(GAMMA, (2, 4, 4))
    state = agent.init(keys())
    values = agent.values(state, START)
    uniforms = jax.random.uniform(keys(), (4000, 2))

    def act(u):
        noise = calm()._replace(explore=u[0], anything=u[1])
        nobody, none = jnp.zeros((0, 4)), jnp.array(-1)
        return agent.act(state, START, nobody, values, none, 0.4, noise)[0]

    share = float(jnp.mean(jax.vmap(act)(uniforms) != jnp.argmax(values)))
    assert abs(share - 0.4 * 3 / 4) < 0.03


def test_refresh_moves_the_target(keys):
    agent = DQN(GAMMA, (2, 4, 2))
    state = agent.init(keys())
    state, _ = agent.update(state, Experience(TWO_STEPS))
    np.testing.assert_array_equal(
        agent.refresh(state).target.weights[0], state.online.parameters.weights[0]
    )
    half = agent.refresh(state, 0.5).target.weights[0]
    mean = (state.target.weights[0] + state.online.parameters.weights[0]) / 2
    np.testing.assert_allclose(half, mean, rtol=1e-6)


def test_learning_rate_falls_in_a_straight_line(keys):
    """With a constant gradient Adam moves by its rate."""
    agent = DQN(GAMMA, (2, 2), learning_rate=0.1, final_rate=0.0, decay_updates=10)
    state = agent.init(keys())
    moves = []
    for _ in range(12):
        before = state.online.parameters.biases[0]
        ever_more = TWO_STEPS._replace(reward=jnp.full(4, 1e6))
        state, _ = agent.update(state, Experience(ever_more))
        moves.append(
            float(jnp.max(jnp.abs(state.online.parameters.biases[0] - before)))
        )
    np.testing.assert_allclose(moves[:10], 0.1 * (1 - np.arange(10) / 10), rtol=0.05)
    assert moves[10] == moves[11] == 0


def test_an_encoder_lets_a_network_learn_states_by_number(keys):
    agent = DQN(GAMMA, (3, 4, 2), OneHot(3))
    state = agent.init(keys())
    expected = state.target(jnp.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(agent.values(state, jnp.array(2)), expected, rtol=1e-6)
