"""DQN on probe tasks whose values are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.dqn import DQN
from policymix.types import Transition

START, MIDDLE = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])
GAMMA = 0.9


def batch(*steps):
    obs, action, reward, next_obs, terminated, truncated = zip(*steps, strict=True)
    return Transition(
        jnp.stack(obs),
        jnp.array(action),
        jnp.array(reward, float),
        jnp.stack(next_obs),
        jnp.array(terminated),
        jnp.array(truncated),
    )


TWO_STEPS = batch(
    (START, 0, 0.0, MIDDLE, False, False),
    (START, 1, 0.5, MIDDLE, True, False),
    (MIDDLE, 0, 1.0, START, True, False),
    (MIDDLE, 1, 0.0, START, True, False),
)


def learned_values(agent, data, updates=3000):
    @eqx.filter_jit
    def train(state):
        def step(state, i):
            state = agent.update(state, data)[0]
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
        (2, 16, 2), GAMMA, learning_rate=3e-3, penalty=0.0, double=double, huber=huber
    )
    expected = [[GAMMA * 1.0, 0.5], [1.0, 0.0]]
    np.testing.assert_allclose(learned_values(agent, TWO_STEPS), expected, atol=0.02)


def test_truncation_bootstraps_and_termination_does_not():
    """Reward 1 for ever: worth 1/(1 − γ) when the horizon cuts it, 1 when it ends."""
    agent = DQN((2, 16, 2), GAMMA, learning_rate=1e-2, penalty=0.0)
    data = batch(
        *((START, action, 1.0, START, False, True) for action in (0, 1)),
        *((MIDDLE, action, 1.0, START, True, False) for action in (0, 1)),
    )
    values = learned_values(agent, data, updates=6000)
    np.testing.assert_allclose(values[0], 10.0, atol=0.2)
    np.testing.assert_allclose(values[1], 1.0, atol=0.2)


def test_double_q_chooses_by_the_online_network(keys):
    agent = DQN((2, 4, 2), GAMMA, double=True)
    online, target = agent.init(keys()).target, agent.init(keys()).target
    step = jax.tree.map(lambda x: x[0], TWO_STEPS)
    choice = int(jnp.argmax(online(MIDDLE)))
    expected = GAMMA * target(MIDDLE)[choice] - online(START)[0]
    np.testing.assert_allclose(
        agent.td_error(online, target, step), expected, rtol=1e-5
    )


def test_penalty_is_on_weights_not_biases(keys):
    network = agent_network = DQN((2, 4, 2), GAMMA).init(keys()).target
    plain = DQN((2, 4, 2), GAMMA, penalty=0.0)
    penalised = DQN((2, 4, 2), GAMMA, penalty=0.1)
    squares = sum(float(jnp.sum(w**2)) for w in network.weights)
    difference = penalised.loss(network, agent_network, TWO_STEPS) - plain.loss(
        network, agent_network, TWO_STEPS
    )
    np.testing.assert_allclose(difference, 0.1 * squares, rtol=1e-4)


def test_exploration_is_as_often_as_epsilon(keys):
    agent = DQN((2, 4, 4), GAMMA)
    network = agent.init(keys()).target
    greedy = jnp.argmax(network(START))
    action_keys = jax.random.split(keys(), 4000)
    act = jax.vmap(lambda key: agent.act(key, network, START, 0.4))
    share = float(jnp.mean(act(action_keys) != greedy))
    assert abs(share - 0.4 * 3 / 4) < 0.03


def test_refresh_moves_the_target(keys):
    agent = DQN((2, 4, 2), GAMMA)
    state = agent.init(keys())
    state, _ = agent.update(state, TWO_STEPS)
    np.testing.assert_array_equal(
        agent.refresh(state).target.weights[0], state.online.parameters.weights[0]
    )
    half = agent.refresh(state, 0.5).target.weights[0]
    mean = (state.target.weights[0] + state.online.parameters.weights[0]) / 2
    np.testing.assert_allclose(half, mean, rtol=1e-6)


def test_learning_rate_falls_in_a_straight_line(keys):
    """With a constant gradient Adam moves by its rate."""
    agent = DQN((2, 2), GAMMA, learning_rate=0.1, final_rate=0.0, decay_updates=10)
    state = agent.init(keys())
    moves = []
    for _ in range(12):
        before = state.online.parameters.biases[0]
        ever_more = TWO_STEPS._replace(reward=jnp.full(4, 1e6))
        state, _ = agent.update(state, ever_more)
        moves.append(
            float(jnp.max(jnp.abs(state.online.parameters.biases[0] - before)))
        )
    np.testing.assert_allclose(moves[:10], 0.1 * (1 - np.arange(10) / 10), rtol=0.05)
    assert moves[10] == moves[11] == 0
