"""Copies of a task: host and compiled ones agree, and episodes end as they should."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.core.types import Discrete
from policymix.domains.cartpole.task import cartpole_family
from policymix.domains.maze.files import load_mazes
from policymix.environments.copies import DomainTasks, HostTasks, copies_of
from policymix.environments.episodes import collect, disturbed, play, taking_turns
from policymix.sources.policies import policy_of, table_policy


def towards_upright(obs):
    """Push the way the pole leans."""
    return np.where(obs[:, 2] + 0.2 * obs[:, 3] > 0, 2, 1)


def make_rough():
    return gymnasium.make("policymix/TransferCartPole-v0", source="rough")


def test_copies_of_either_kind():
    assert isinstance(copies_of(cartpole_family().target, 2), DomainTasks)
    assert isinstance(copies_of(make_rough, 2), HostTasks)


@pytest.mark.parametrize("variant", [cartpole_family().sources["rough"], make_rough])
def test_an_episode_is_a_chain_of_transitions(variant):
    for episode in play(variant, towards_upright, episodes=3, seed=5):
        assert len(episode.obs) == episode.length + 1
        rough = cartpole_family().sources["rough"]
        steps = map(jnp.asarray, (episode.obs[:-1], episode.actions))
        expected = jax.vmap(rough.transition)(*steps)
        np.testing.assert_allclose(episode.obs[1:], expected, atol=1e-5)
        fell = abs(episode.obs[-1][2]) > 0.2094 or abs(episode.obs[-1][0]) > 2.4
        assert episode.terminated == fell
        assert episode.total == episode.length - fell


def test_truncated_at_the_horizon():
    (episode,) = play(load_mazes().target, lambda obs: np.zeros(len(obs), int), 1, 0)
    assert episode.length == 300
    assert not episode.terminated
    bumps = episode.rewards == np.float32(-0.02)
    np.testing.assert_array_equal(bumps, episode.obs[1:] == episode.obs[:-1])


def test_seeds_name_episodes():
    target = cartpole_family().target
    first = play(target, towards_upright, episodes=3, seed=10)
    shifted = play(target, towards_upright, episodes=2, seed=11)
    np.testing.assert_allclose(first[1].obs[:20], shifted[0].obs[:20], atol=1e-4)
    np.testing.assert_allclose(first[2].obs[:20], shifted[1].obs[:20], atol=1e-4)
    assert not np.array_equal(first[0].obs[0], first[1].obs[0])


@pytest.mark.parametrize("variant", [cartpole_family().target, make_rough])
def test_inactive_copies_do_not_change_the_others(variant):
    together = play(variant, towards_upright, episodes=4, seed=2)
    alone = [play(variant, towards_upright, 1, seed)[0] for seed in range(2, 6)]
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a.obs[:20], b.obs[:20], atol=1e-4)


def test_collected_transitions_go_on_after_an_end():
    tasks = DomainTasks(cartpole_family().target, 4)
    data = collect(tasks, towards_upright, samples=2000, seed=3, epsilon=1.0)
    assert len(data.obs) == 2000
    steps = map(jnp.asarray, (data.obs, data.action))
    expected = jax.vmap(cartpole_family().target.transition)(*steps)
    np.testing.assert_allclose(data.next_obs, expected, rtol=1e-4, atol=1e-5)
    goes_on = np.all(data.obs[4:] == data.next_obs[:-4], axis=1)
    fell = (abs(data.next_obs[:-4, 0]) > 2.4) | (
        abs(data.next_obs[:-4, 2]) > 0.20943951
    )
    np.testing.assert_array_equal(goes_on, ~fell)
    assert fell.sum() > 20


def test_disturbances_are_as_often_as_asked():
    act = disturbed(lambda obs: np.full(len(obs), 9), 0.25, Discrete(4), seed=0)
    share = np.mean(act(np.zeros((8000, 1))) != 9)
    assert abs(share - 0.25) < 0.02


@pytest.mark.parametrize(
    "policy",
    [
        lambda obs: jnp.where(obs[0] > 0, 2, 3),
        lambda obs: jnp.eye(4)[2 + (obs[0] <= 0)],
    ],
)
def test_a_policy_may_give_an_index_or_probabilities(policy):
    act = policy_of(policy)
    states = np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]], np.float32)
    np.testing.assert_array_equal(act(states), [2, 3])


def test_policies_lead_in_turn():
    policies = [lambda obs, k=k: np.full(len(obs), k) for k in range(3)]
    lead = taking_turns(policies, stretch=20, seed=0)
    leaders = np.array([lead(np.zeros((50, 1))) for _ in range(400)])
    assert np.allclose(np.bincount(leaders.ravel()) / leaders.size, 1 / 3, atol=0.05)
    changes = np.mean(leaders[1:] != leaders[:-1])
    assert abs(changes - (2 / 3) / 20) < 0.005


def test_the_same_seed_gives_the_same_transitions():
    runs = [
        collect(HostTasks(make_rough, 2), towards_upright, 200, seed=4) for _ in "ab"
    ]
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)


def make_lake():
    return gymnasium.make("FrozenLake-v1", is_slippery=False)


def test_the_number_of_a_state_looks_up_its_row_of_a_table():
    way = [1, 2, 1, 0, 1, 0, 1, 0, 2, 1, 1, 0, 0, 2, 2, 0]
    policy = policy_of(table_policy(jnp.array(way), 4))
    (episode,) = play(make_lake, policy, 1, 0)
    assert episode.obs.tolist() == [0, 4, 8, 9, 13, 14, 15]
    assert np.issubdtype(episode.obs.dtype, np.integer)
