"""SAC piece by piece against closed forms and PyTorch, and a whole update of SB3's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.agents.base import Experience
from policymix.agents.sac import SAC, SACState
from policymix.agents.squashed import Squashed, draw_action, likeliest, squashed
from policymix.core.boxes import from_unit, in_unit
from policymix.core.networks import MLP
from policymix.core.returns import Returns
from policymix.core.types import Box, Transition

TORQUE = Box((-2.0,), (2.0,))
GAMMA = 0.9


def agent_for(action=TORQUE, **options):
    return SAC(GAMMA, action, num_inputs=3, layers=(8, 8), **options)


def some_batch(rows=16, seed=0):
    rng = np.random.default_rng(seed)
    obs, next_obs = rng.normal(size=(2, rows, 3)).astype(np.float32)
    return Transition(
        jnp.asarray(obs),
        jnp.asarray(rng.uniform(-2, 2, (rows, 1)), jnp.float32),
        jnp.asarray(rng.normal(size=rows), jnp.float32),
        jnp.asarray(next_obs),
        jnp.asarray(rng.random(rows) < 0.3),
        jnp.zeros(rows, bool),
    )


def in_step_units(state):
    """Such that rewards count as they are."""
    spread = 1.0 / (1.0 - GAMMA)
    returns = Returns(*(jnp.array(x) for x in (0.0, 1.0, 0.0, spread**2)))
    return state._replace(returns=returns)


def test_bounds_become_one_and_back():
    space = Box((-2.0, 0.0), (2.0, 10.0))
    np.testing.assert_allclose(in_unit(space, np.array([2.0, 2.5])), [1.0, -0.5])
    np.testing.assert_allclose(
        from_unit(space, in_unit(space, np.array([-0.3, 7.0]))), [-0.3, 7.0], rtol=1e-6
    )


def test_log_densities_are_those_of_pytorch(keys):
    torch = pytest.importorskip("torch")
    mean, log_deviation, noise = jax.random.normal(keys(), (3, 5))
    action, log_density = draw_action(Squashed(mean, log_deviation), noise)
    deviation = torch.tensor(np.exp(log_deviation))
    base = torch.distributions.Normal(torch.tensor(np.array(mean)), deviation)
    tanh = torch.distributions.transforms.TanhTransform(cache_size=1)
    theirs = torch.distributions.TransformedDistribution(base, tanh)
    raw = torch.tensor(np.array(mean + jnp.exp(log_deviation) * noise))
    np.testing.assert_allclose(action, torch.tanh(raw), rtol=1e-5)
    expected = theirs.log_prob(tanh(raw)).sum()
    np.testing.assert_allclose(log_density, expected, rtol=1e-4)


def test_the_density_of_actions_integrates_to_one():
    policy = Squashed(jnp.array([0.4]), jnp.array([-0.3]))
    raw = jnp.linspace(-8.0, 8.0, 20_001)
    noise = (raw - policy.mean[0]) / jnp.exp(policy.log_deviation[0])
    actions, log_densities = jax.vmap(lambda n: draw_action(policy, n[None]))(noise)
    total = jnp.trapezoid(jnp.exp(log_densities), actions[:, 0])
    np.testing.assert_allclose(total, 1.0, atol=1e-3)


def test_a_saturated_action_has_a_finite_density_and_slope():
    def log_density(mean):
        return draw_action(Squashed(mean, jnp.zeros(1)), jnp.ones(1))[1]

    value, slope = jax.value_and_grad(log_density)(jnp.array([40.0]))
    assert np.isfinite(value)
    np.testing.assert_allclose(slope, 2.0, rtol=1e-5)  # −log(1 − tanh² u) → 2u − log 4
    assert likeliest(squashed(jnp.array([40.0, -99.0]))) == 1.0


def test_a_target_is_the_reward_and_the_soft_value_after_it(keys):
    agent = agent_for()
    state = in_step_units(agent.init(keys()))
    step = jax.tree.map(lambda x: x[0], some_batch())
    noise = jnp.array([0.7])
    policy = agent.policy(state.actor.parameters, step.next_obs)
    action, log_density = draw_action(policy, noise)
    values = agent.both(state.older, step.next_obs, action)
    hot = state._replace(
        temperature=state.temperature.__class__(jnp.log(jnp.array(0.2)), ())
    )
    goes_on = step._replace(terminated=jnp.array(False))
    expected = step.reward + GAMMA * (min(values) - 0.2 * log_density)
    np.testing.assert_allclose(agent.target(hot, goes_on, noise), expected, rtol=1e-5)
    ended = step._replace(terminated=jnp.array(True))
    np.testing.assert_allclose(agent.target(hot, ended, noise), step.reward, rtol=1e-5)


def test_the_unit_of_rewards_does_not_matter(keys):
    """Ten times the rewards and ten times the spread: the same target."""
    agent = agent_for()
    state = in_step_units(agent.init(keys()))
    step = jax.tree.map(lambda x: x[0], some_batch())
    dear = step._replace(reward=10.0 * step.reward)
    wide = state._replace(
        returns=state.returns._replace(squares=100.0 * state.returns.squares)
    )
    np.testing.assert_allclose(
        agent.target(wide, dear, jnp.ones(1)),
        agent.target(state, step, jnp.ones(1)),
        rtol=1e-5,
    )


def test_a_rival_is_bootstrapped_where_it_is_heard_and_worth_more(keys):
    agent = agent_for()
    state = in_step_units(agent.init(keys()))
    step = jax.tree.map(lambda x: x[0], some_batch())
    step = step._replace(terminated=jnp.array(False))
    noise, actions = jnp.zeros(1), jnp.array([[-2.0], [2.0]])
    alone = agent.target(state, step, noise)

    def target(rival, heard):
        return agent.target(state, step, noise, rival, jnp.array(heard))

    own = likeliest(agent.policy(state.actor.parameters, step.next_obs))
    worth = [min(agent.both(state.older, step.next_obs, a / 2.0)) for a in actions]
    own_worth = min(agent.both(state.older, step.next_obs, own))
    better, worse = (1, 0) if worth[1] > worth[0] else (0, 1)
    assert worth[worse] < own_worth < worth[better]
    assert target(actions[better], heard=False) == alone
    assert target(actions[worse], heard=True) == alone
    np.testing.assert_allclose(
        target(actions[better], heard=True),
        step.reward + GAMMA * worth[better],
        rtol=1e-5,
    )


@pytest.mark.parametrize(("log_density", "falls"), [(-5.0, True), (3.0, False)])
def test_the_temperature_falls_where_entropy_is_above_its_goal(log_density, falls):
    agent = agent_for(Box((-1.0, -1.0), (1.0, 1.0)))
    slope = jax.grad(agent.temperature_loss)(jnp.array(0.0), jnp.array(log_density))
    np.testing.assert_allclose(slope, -(log_density - 2.0))
    assert (slope > 0.0) == falls


def layers_of(modules):
    """Linear layers of PyTorch's as an MLP of ours."""
    pairs = [
        (m.weight.detach().numpy(), m.bias.detach().numpy())
        for m in modules
        if hasattr(m, "weight")
    ]
    weights, biases = zip(*pairs, strict=True)
    return MLP(tuple(map(jnp.asarray, weights)), tuple(map(jnp.asarray, biases)))


def actor_of(model):
    actor = model.actor
    mean, deviation = (
        layers_of([*actor.latent_pi, x]) for x in (actor.mu, actor.log_std)
    )
    weight = jnp.concatenate([mean.weights[-1], deviation.weights[-1]])
    bias = jnp.concatenate([mean.biases[-1], deviation.biases[-1]])
    return MLP((*mean.weights[:-1], weight), (*mean.biases[:-1], bias))


def critics_of(critic):
    parts = [layers_of(q) for q in critic.q_networks]
    return jax.tree.map(lambda *x: jnp.stack(x), *parts)


def test_three_updates_are_those_of_stable_baselines3(keys, monkeypatch):
    """The same networks, batches and noise: the same networks afterwards."""
    torch = pytest.importorskip("torch")
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.type_aliases import ReplayBufferSamples

    rate, batch = 1e-3, some_batch()
    model = sb3.SAC(
        "MlpPolicy",
        "Pendulum-v1",
        gamma=GAMMA,
        learning_rate=rate,
        policy_kwargs={"net_arch": [8, 8]},
        seed=0,
        device="cpu",
    )
    agent = agent_for(learning_rate=rate)
    state: SACState = in_step_units(agent.init(keys()))
    state = state._replace(
        actor=state.actor.__class__(actor_of(model), state.actor.memory),
        critics=state.critics.__class__(critics_of(model.critic), state.critics.memory),
        older=critics_of(model.critic_target),
    )
    noise = np.array(jax.random.normal(keys(), (3, 2, 16, 1)))
    told = iter(noise[:, ::-1].reshape(-1, 16, 1))  # SB3 draws before, then after
    monkeypatch.setattr(
        torch.distributions.normal,
        "_standard_normal",
        lambda shape, dtype, device: torch.tensor(next(told)),
    )
    columns = [np.array(part, np.float32) for part in batch]
    obs, action, reward, next_obs, terminated, _ = columns
    for step in range(3):
        state = agent.note(state, jax.tree.map(lambda x: x[:1], batch))
        experience = Experience(batch, noise=jnp.asarray(noise[step]))
        state, loss = agent.update(state, experience)
        unit = float(agent.unit(state))
        rows = (obs, action / 2.0, next_obs, terminated[:, None])
        before, acted, after, over = (torch.tensor(part) for part in rows)
        paid = torch.tensor(reward[:, None] / unit)
        sampled = ReplayBufferSamples(before, acted, after, over, paid)
        monkeypatch.setattr(
            model.replay_buffer, "sample", lambda *_, rows=sampled, **__: rows
        )
        model._logger = sb3.common.logger.Logger(None, [])
        model.train(1, 16)
        assert np.isfinite(loss)
    pairs = [
        (state.actor.parameters, actor_of(model)),
        (state.critics.parameters, critics_of(model.critic)),
        (state.older, critics_of(model.critic_target)),
    ]
    for ours, theirs in pairs:
        for one, other in zip(
            jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=0.03 * rate)
    np.testing.assert_allclose(
        state.temperature.parameters, model.log_ent_coef.detach()[0], rtol=1e-4
    )
