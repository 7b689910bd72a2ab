"""Actors with advice: SB3's SAC, whose critics know Φ with a kernel."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import SAC

from policymix.bridges.stable_baselines3 import (
    MarsSAC,
)

from support.sb3 import (
    PLACES,
    agent,
    parameters_of,
    tensor,
)


def kernel_values(model, rows, actions, precision=1.0):
    """c·Σᵢ aᵢ(s) exp(−ν‖a − πᵢ(s)‖²) by NumPy, for actions in [−1, 1]."""
    weights, advice = model.advisor.advice(rows)
    gaps = (advice - 1.0) / 3.0 - np.asarray(actions, float)[:, None]
    closeness = np.exp(-precision * np.sum(gaps**2, axis=2))
    return model.guide.scale * np.sum(weights * closeness, axis=1)


PUSHES = np.array([[-0.9], [-0.2], [0.4], [1.0]], np.float32)


def test_the_potential_of_an_action_and_its_gradient():
    model = agent(MarsSAC, form="explicit", scale=1.7, precision=0.6)
    model.learn(12)
    actions = tensor(PUSHES).clone().requires_grad_()
    found = model.guide.value(tensor(PLACES), actions)
    assert found.shape == (4, 1)
    expected = kernel_values(model, PLACES, PUSHES, 0.6)
    np.testing.assert_allclose(found.detach()[:, 0], expected, rtol=1e-5)
    found.sum().backward()
    assert actions.grad is not None
    rise = kernel_values(model, PLACES, PUSHES + 1e-2, 0.6)
    fall = kernel_values(model, PLACES, PUSHES - 1e-2, 0.6)
    np.testing.assert_allclose(actions.grad[:, 0], (rise - fall) / 2e-2, atol=2e-3)


@pytest.mark.parametrize("form", ["explicit", "lookahead"])
def test_critics_tell_the_actor_of_advice_and_nobody_else(form):
    model, plain = agent(MarsSAC, form=form, scale=2.0), agent(SAC)
    model.learn(12)
    plain.policy.load_state_dict(parameters_of(model))
    rows, pushes = tensor(PLACES), tensor(PUSHES)
    phi = kernel_values(model, PLACES, PUSHES)[:, None]
    assert phi.max() > 0.1
    proposed = pushes.clone().requires_grad_()
    for name in ("critic", "critic_target"):
        critic, original = getattr(model, name), getattr(plain, name)
        for actions, advised in ((pushes, form == "lookahead"), (proposed, True)):
            pairs = zip(critic(rows, actions), original(rows, actions), strict=True)
            for found, value in pairs:
                expected = value.detach().numpy() + advised * phi
                np.testing.assert_allclose(found.detach(), expected, atol=1e-5)


@pytest.mark.parametrize("form", ["explicit", "lookahead"])
def test_losses_of_actor_and_critic(form):
    """One transition, the actor made sure of itself: what SB3 logs is computed anew."""
    model = agent(MarsSAC, form=form, scale=2.0, ent_coef=0.0, learning_rate=1e-8)
    plain = agent(SAC, ent_coef=0.0)
    model.learn(12)
    model.replay_buffer.reset()
    row, after, push = PLACES[1:2], PLACES[2:3], PUSHES[2:3]
    step = (row, after, push, np.array([0.3]), np.array([False]))
    model.replay_buffer.add(*step, [{}])
    with torch.no_grad():
        for network in (model.actor.log_std, plain.actor.log_std):
            network.weight.zero_()
            network.bias.fill_(-20.0)
    plain.policy.load_state_dict(parameters_of(model))
    model.train(1, 2)
    learned = 1.0 if form == "lookahead" else 0.0
    with torch.no_grad():
        chosen, following = (plain.actor(tensor(r), True) for r in (row, after))
        values = [value.numpy() for value in plain.critic(tensor(row), tensor(push))]
        target = torch.cat(plain.critic_target(tensor(after), following), 1).min()
        judged = torch.cat(plain.critic(tensor(row), chosen), 1).min()
    later = kernel_values(model, after, following.numpy())
    goal = 0.3 + 0.9 * (float(target) + learned * later)
    now = learned * kernel_values(model, row, push)
    loss = sum(float(np.square(value[0] + now - goal)[0]) / 2 for value in values)
    logged = model.logger.name_to_value
    assert logged["train/critic_loss"] == pytest.approx(loss, rel=1e-3)
    advice = float(kernel_values(model, row, chosen.numpy())[0])
    assert advice > 0.05
    assert logged["train/actor_loss"] == pytest.approx(
        -(float(judged) + advice), rel=1e-3
    )
