"""Policies are learned, the best checkpoint is kept, the same seed gives the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.networks import init_mlp
from policymix.domains.cartpole.task import cartpole_family
from policymix.environments.copies import DomainTasks
from policymix.environments.episodes import play
from policymix.training.source_policy import (
    Judgement,
    PolicySettings,
    host_policy,
    train_policy,
)

CART = cartpole_family().sources["rough"]
SETTINGS = PolicySettings(
    samples=16_000,
    hidden=(40, 40),
    discount=0.98,
    reward_scale=1.0,
    evaluate_every=2_000,
    evaluation_episodes=8,
)


def judge(policy, episodes, seed):
    totals = [episode.total for episode in play(CART, policy, min(episodes, 8), seed)]
    return Judgement(float(np.mean(totals)), {})


@pytest.fixture(scope="module")
def trained():
    merits = []
    result = train_policy(
        DomainTasks(CART, 16), SETTINGS, judge, 0, lambda _, merit: merits.append(merit)
    )
    return result, merits


@pytest.mark.learning
def test_learning_beats_a_random_network(trained, keys):
    untrained = judge(host_policy(init_mlp(keys(), (4, 40, 40, 4))), 8, 77)
    assert judge(host_policy(trained[0].network), 8, 77).merit > 3 * untrained.merit


def test_the_kept_policy_is_no_worse_than_the_last(trained):
    result, merits = trained
    assert result.judgement.merit >= 0.8 * np.nanmax(merits)


def test_history_holds_every_transition_once(trained):
    history = trained[0].history
    assert len(history.obs) == SETTINGS.samples
    for episode in np.unique(history.episode)[:20]:
        rows = history.episode == episode
        np.testing.assert_array_equal(
            history.obs[rows][1:], history.next_obs[rows][:-1]
        )
        ended = history.terminated[rows] | history.truncated[rows]
        assert not ended[:-1].any()


def test_the_same_seed_gives_the_same_policy(trained):
    short = PolicySettings(**{**SETTINGS.__dict__, "samples": 2_000})
    networks = [
        train_policy(DomainTasks(CART, 16), short, judge, 3, lambda *_: None).network
        for _ in range(2)
    ]
    for a, b in zip(networks[0].weights, networks[1].weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_host_policy_is_the_networks_argmax(keys):
    network = init_mlp(keys(), (4, 8, 3))
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    expected = np.argmax(jax.vmap(network)(jnp.asarray(obs)), axis=1)
    np.testing.assert_array_equal(host_policy(network)(obs), expected)
