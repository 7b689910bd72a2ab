"""Transitions from environments and recorded datasets."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from policymix.sources.dynamics import UNKNOWN

from support.turning import (
    EPISODES,
    Count,
    fit,
    recorded,
    turning_episodes,
)


def test_no_transition_leads_across_a_reset():
    found = fit(Count, samples=500)
    expected = [[i, i + 1] for i in range(5)] + [[UNKNOWN] * 2] * 2
    np.testing.assert_array_equal(found.model.next_obs, expected)
    assert found.error == 0


@pytest.mark.parametrize("advice", [0, np.array([0.9, 0.1]), jnp.array(0)])
def test_a_policy_leads_but_for_three_actions_in_ten(advice):
    environment = Count()
    fit(environment, policy=lambda obs: advice, samples=4_000)
    assert len(environment.taken) == 4_000
    assert np.mean(environment.taken) == pytest.approx(0.15, abs=0.03)


def test_only_environments_made_here_are_closed():
    made = []

    def make():
        made.append(Count())
        return made[-1]

    given = Count()
    fit(make, samples=50)
    fit(given, samples=50)
    assert ([environment.closed for environment in made], given.closed) == (
        [True],
        False,
    )


def test_rollouts_of_cartpole_by_id():
    found = fit("CartPole-v1", samples=1_000, layers=(32,))
    assert found.model.network.sizes == (6, 32, 4)
    assert found.error < found.still / 5


class Slide(gymnasium.Env):
    """Moves by its bounded action; its observation is one array that changes."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,))
    action_space = spaces.Box(-1.0, 1.0, (2,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = np.zeros(2, np.float32)
        return self.place, {}

    def step(self, action):
        assert np.all(np.abs(action) <= 1)
        self.place += action - 0.1 * self.place
        return self.place, 0.0, False, False, {}


def test_rollouts_with_continuous_actions_within_their_bounds():
    found = fit(Slide(), policy=lambda obs: [5.0, -0.2], samples=2_000)
    assert found.error < found.still / 5


def minari_dataset(monkeypatch, tmp_path, obs, actions, **named):
    """A Minari dataset that is kept in memory: its own formats need h5py or pyarrow."""
    minari = pytest.importorskip("minari")
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset import _storages
    from minari.dataset.minari_storage import MinariStorage

    class BehaviourState(MinariStorage):
        FORMAT = "memory"

        @classmethod
        def _create(cls, *arguments, **options):
            return cls(*arguments, **options)

        def update_episodes(self, episodes):
            self.episodes = [
                {
                    "id": i,
                    "observations": np.array(e.observations),
                    "actions": np.array(e.actions),
                    "rewards": e.rewards,
                    "terminations": e.terminations,
                    "truncations": e.truncations,
                    "infos": {},
                }
                for i, e in enumerate(episodes)
            ]
            self.update_metadata({"total_episodes": len(self.episodes)})

        def get_episodes(self, episode_indices):
            return [self.episodes[i] for i in episode_indices]

        def update_episode_metadata(self, metadatas, episode_indices=None):
            raise NotImplementedError

        def get_episode_metadata(self, episode_indices):
            raise NotImplementedError

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.setitem(_storages._registry, "memory", lambda: BehaviourState)
    buffers = [
        EpisodeBuffer(
            observations=list(seen), actions=list(done), rewards=[0.0] * len(done)
        )
        for seen, done in zip(obs, actions, strict=True)
    ]
    text = ("code_permalink", "author", "author_email", "algorithm_name", "description")
    return minari.create_dataset_from_buffers(
        "turning-v0",
        buffers,
        env=gymnasium.spec("CartPole-v1"),
        eval_env="CartPole-v1",
        data_format="memory",
        **dict.fromkeys(text, "none"),
        **named,
    )


def test_a_minari_dataset_is_its_transitions(turned, monkeypatch, tmp_path):
    dataset = minari_dataset(
        monkeypatch,
        tmp_path,
        *turning_episodes(),
        observation_space=spaces.Box(-np.inf, np.inf, (2,)),
        action_space=spaces.Discrete(3),
    )
    assert len(dataset) == EPISODES
    found = fit(dataset)
    assert found.error == turned.error
    assert jax.tree.all(jax.tree.map(np.array_equal, turned.model, found.model))


@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
def test_a_minari_dataset_is_read_from_disk(monkeypatch, tmp_path):
    pytest.importorskip("h5py")
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    environment = minari.DataCollector(gymnasium.make("CartPole-v1"))
    environment.action_space.seed(0)
    rows = []
    for episode in range(30):
        obs, ended = environment.reset(seed=episode)[0], False
        while not ended:
            action = environment.action_space.sample()
            next_obs, _, terminated, truncated, _ = environment.step(action)
            rows.append((obs, action, next_obs))
            obs, ended = next_obs, terminated or truncated
    text = ("code_permalink", "author", "author_email", "algorithm_name", "description")
    environment.create_dataset(
        "cartpole/random-v0", eval_env="CartPole-v1", **dict.fromkeys(text, "none")
    )
    environment.close()
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    assert list(tmp_path.rglob("*.hdf5"))
    dataset = minari.load_dataset("cartpole/random-v0")
    assert dataset.total_steps == len(rows)
    found, expected = fit(dataset), fit(tuple(columns))
    assert found.error == expected.error < expected.still
    assert jax.tree.all(jax.tree.map(np.array_equal, found.model, expected.model))


def test_a_dataset_knows_its_spaces():
    dataset = recorded((np.arange(41) % 4, np.zeros(40, int)))
    dataset.observation_space = spaces.Discrete(9)
    dataset.action_space = spaces.Discrete(2)
    assert fit(dataset).model.next_obs.shape == (9, 2)
