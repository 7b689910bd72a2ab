"""Dynamics learned from data: true to unseen rows, in any units, from any source."""

import re
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import policymix as pm
from policymix.core.errors import DomainError, SourceError
from policymix.core.networks import init_mlp
from policymix.environments.episodes import Sampled
from policymix.sources.dynamics import UNKNOWN
from policymix.sources.fitting.data import Transitions, split
from policymix.sources.fitting.fit import stop_early

EPISODES, LENGTH = 40, 50
TURN = np.array([[0.8, 0.5], [-0.5, 0.8]])
PUSHES = np.array([[1.0, 0.0], [0.0, -1.0], [-1.0, 1.0]])
SETTINGS = pm.ModelSettings(max_steps=3_000, batch=64, learning_rate=5e-3)


def fit(data, **options):
    options = {"layers": (32,), "settings": SETTINGS, "progress": False, **options}
    return pm.fit_dynamics(data, **options)


def turning_episodes(scales=(1.0, 1.0), seed=0):
    """Observations and actions of a linear system, from many starts."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(3, size=(EPISODES, LENGTH))
    obs = [rng.normal(size=(EPISODES, 2))]
    for step in range(LENGTH):
        obs.append(obs[-1] @ TURN.T + PUSHES[actions[:, step]])
    return np.stack(obs, axis=1) * np.array(scales), actions


def turning(scales=(1.0, 1.0)):
    obs, actions = turning_episodes(scales)
    rows = (-1, len(scales))
    return Sampled(obs[:, :-1].reshape(rows), actions.ravel(), obs[:, 1:].reshape(rows))


@pytest.fixture(scope="module")
def turned():
    return fit(turning())


def predict(model, data):
    action = jnp.asarray(data.action)
    obs = jnp.asarray(data.obs, float)
    return np.asarray(jax.vmap(model)(obs, action), np.float64)


def test_a_linear_system_is_learned(turned):
    assert turned.error < 1e-3 < turned.still / 500
    assert turned.steps == SETTINGS.max_steps
    np.testing.assert_allclose(
        turned.model(jnp.array([0.5, -1.0]), jnp.array(1)),
        TURN @ [0.5, -1.0] + PUSHES[1],
        atol=0.1,
    )


def test_the_model_carries_the_spread_of_its_data(turned):
    encoder, data = turned.model.encoder, turning()
    np.testing.assert_allclose(encoder.centre, data.obs.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(encoder.spread, data.obs.std(axis=0), rtol=0.05)


def test_units_do_not_matter(turned):
    scales = np.array([1e-9, 1e4])
    scaled = fit(turning(scales))
    assert scaled.error < 1e-3
    np.testing.assert_allclose(scaled.still, turned.still, rtol=1e-3)
    assert np.all(scaled.components < 0.03 * turning(scales).obs.std(axis=0))
    np.testing.assert_allclose(scaled.model.encoder.spread[1] / scales[1], 2, atol=1)


def test_the_error_is_that_of_unseen_rows(turned):
    data = turning()
    _, unseen = split(Transitions(*map(jnp.asarray, data)), 0.1, seed=0)
    spread = np.asarray(turned.model.encoder.spread, np.float64)
    gaps = predict(turned.model, unseen) - np.asarray(unseen.next_obs)
    moves = np.asarray(unseen.obs - unseen.next_obs)
    assert len(gaps) == len(data.obs) // 10
    for found, expected in (
        (turned.error, np.square(gaps / spread).sum(axis=1).mean()),
        (turned.still, np.square(moves / spread).sum(axis=1).mean()),
        (turned.components, np.sqrt(np.square(gaps).mean(axis=0))),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_nothing_of_unseen_rows_is_learned(turned):
    """Nor do they stop the training, which on the others improves at every check."""
    data = turning()
    index = jnp.arange(len(data.obs))
    _, unseen = split(Transitions(index, index, index), 0.1, seed=0)  # pyright: ignore[reportArgumentType]
    garbled = data.next_obs.copy()
    garbled[unseen.obs] += 100.0
    impatient = replace(SETTINGS, patience=1)
    other = fit(data._replace(next_obs=garbled), settings=impatient)
    assert jax.tree.all(jax.tree.map(np.array_equal, turned.model, other.model))
    assert other.error > 1_000 * turned.error


def fit_noise(**options):
    rng = np.random.default_rng(0)
    obs, noise = rng.normal(size=(2, 2_000, 2))
    settings = pm.ModelSettings(50_000, patience=2, batch=64, learning_rate=5e-3)
    data = obs, rng.integers(3, size=2_000), noise
    return noise, fit(data, settings=settings, **options)


def test_noise_is_not_learned_and_ends_training():
    noise, found = fit_noise()
    assert found.steps <= 10_000
    spread = np.asarray(found.model.encoder.spread)
    variance = np.square(noise / spread).sum(axis=1).mean()
    assert 0.8 * variance < found.error < 1.6 * variance


def test_the_bar_ends_with_the_steps_that_were_taken(capsys):
    _, found = fit_noise(progress=True)
    steps, printed = found.steps, capsys.readouterr().out
    assert steps < 50_000
    assert re.search(rf"dynamics .* {steps}/{steps} .*\d/s error \d", printed)
    fit_noise()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("errors", "best", "tried"),
    [
        ([5.0, 3.0, 4.0, 4.0, 1.0], 1, 4),
        ([5.0, 4.99, 4.98, 1.0], 2, 3),
        ([5.0, 4.0, 4.5, 3.0, 3.5], 3, 5),
        ([np.nan, 2.0, np.nan, np.nan, 1.0], 1, 4),
    ],
)
def test_training_stops_without_gain_and_keeps_the_best(errors, best, tried):
    told = []
    stages = iter(range(len(errors)))
    found = stop_early(stages, lambda stage: errors[stage], 2, told.append)
    assert found == (best, tried)
    np.testing.assert_array_equal(told, errors[:tried])


def test_continuous_actions_of_any_size():
    data, rng = turning(), np.random.default_rng(1)
    action = rng.uniform(-50, 50, (len(data.obs), 2))
    next_obs = data.obs @ TURN.T + action / 10
    found = fit((data.obs, action, next_obs))
    assert found.error < found.still / 300
    assert found.model.network.sizes == (4, 32, 2)


def test_mappings_and_other_arrays_give_the_same(turned):
    columns = dict(zip(("obs", "action", "next_obs"), turning(), strict=True))
    other = fit({name: jnp.asarray(column) for name, column in columns.items()})
    assert other.error == turned.error


def test_seeds_repeat_and_differ(turned):
    assert fit(turning(), seed=1).error != turned.error == fit(turning()).error


STATES, ACTIONS = 6, 3


def chain():
    """Where each state and action of a small decision problem leads."""
    return np.random.default_rng(5).integers(STATES, size=(STATES, ACTIONS))


def visits(samples=3_000):
    rng = np.random.default_rng(6)
    return rng.integers(STATES, size=samples), rng.integers(ACTIONS, size=samples)


def test_a_table_is_the_transition_function():
    obs, action = visits()
    found = fit((obs, action, chain()[obs, action]))
    np.testing.assert_array_equal(found.model.next_obs, chain())
    assert (found.error, found.steps, *found.components) == (0, 0, 0)
    assert 0 < found.still <= 1


def test_a_table_holds_what_is_most_frequent():
    obs, action = visits()
    slips = np.random.default_rng(7).random(obs.size) < 0.3
    next_obs = np.where(slips, 0, chain()[obs, action])
    found = fit((obs, action, next_obs))
    np.testing.assert_array_equal(found.model.next_obs, chain())
    assert 0.15 < found.error < 0.35
    np.testing.assert_array_equal(found.components, [found.error])


def test_pairs_never_seen_are_unknown():
    obs, action = visits()
    seen = (obs != 2) | (action != 1)
    data = obs[seen], action[seen], chain()[obs, action][seen]
    table = fit(data, num_states=8, num_actions=4).model.next_obs
    expected = np.full((8, 4), UNKNOWN)
    expected[:STATES, :ACTIONS] = chain()
    expected[2, 1] = UNKNOWN
    np.testing.assert_array_equal(table, expected)


class Count(gymnasium.Env):
    """Counts to five, then begins anew; an action of zero waits."""

    observation_space = spaces.Discrete(7)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.closed, self.taken = False, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.count, {}

    def step(self, action):
        self.taken.append(int(action))
        self.count += int(action)
        return self.count, 0.0, self.count == 5, False, {}

    def close(self):
        self.closed = True


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


def recorded(*episodes):
    rows = [SimpleNamespace(observations=o, actions=a) for o, a in episodes]
    return SimpleNamespace(iterate_episodes=lambda: iter(rows))


def test_a_dataset_knows_its_spaces():
    dataset = recorded((np.arange(41) % 4, np.zeros(40, int)))
    dataset.observation_space = spaces.Discrete(9)
    dataset.action_space = spaces.Discrete(2)
    assert fit(dataset).model.next_obs.shape == (9, 2)


def test_models_survive_saving(turned, keys, tmp_path):
    policy = pm.policies.GreedyPolicy(
        init_mlp(keys(), (2, 4, 3)), pm.encoders.Identity()
    )
    source = pm.SourceTask("turning", policy, turned.model)
    spec = pm.TaskSpec(pm.Box((-5.0,) * 2, (5.0,) * 2), pm.Discrete(3))
    pm.SourceLibrary([source], spec, turned.model.encoder).save(tmp_path / "library")
    loaded = pm.SourceLibrary.load(tmp_path / "library")
    found = predict(loaded.sources[0].dynamics, turning())
    np.testing.assert_array_equal(found, predict(turned.model, turning()))
    assert jax.tree.all(
        jax.tree.map(np.array_equal, loaded.encoder, turned.model.encoder)
    )


def test_tables_survive_saving(tmp_path):
    obs, action = visits()
    model = fit((obs, action, chain()[obs, action])).model
    policy = pm.table_policy(jnp.zeros(STATES, int), ACTIONS)
    source = pm.SourceTask("chain", policy, model, pm.Indicator())
    spec = pm.TaskSpec(pm.Discrete(STATES), pm.Discrete(ACTIONS))
    library = pm.SourceLibrary([source], spec, pm.encoders.OneHot(STATES))
    library.save(tmp_path / "library")
    loaded = pm.SourceLibrary.load(tmp_path / "library").sources[0].dynamics
    np.testing.assert_array_equal(loaded.next_obs, chain())  # pyright: ignore[reportFunctionMemberAccess]


ROWS, FEW = np.random.default_rng(0).normal(size=(50, 2)), np.zeros(50, int)


def broken(value):
    rows = ROWS.copy()
    rows[17, 1] = value
    return rows


class Strange(Count):
    def __init__(self, **named):
        super().__init__()
        for name, space in named.items():
            setattr(self, f"{name}_space", space)


PLAIN = spaces.Box(-1.0, 1.0, (2,))
COMPLAINTS = {
    "lengths": ((ROWS, FEW[:49], ROWS), "50 of obs, 49 of action, 50 of next_obs"),
    "empty": (([], [], []), "there are 0 transitions.*at least 20"),
    "few": ((ROWS[:19], FEW[:19], ROWS[:19]), "there are 19 transitions"),
    "nan": ((broken(np.nan), FEW, ROWS), "^obs holds NaN or infinity in row 17"),
    "infinity": ((ROWS, FEW, broken(np.inf)), "next_obs holds NaN .* row 17"),
    "overflow": ((ROWS, broken(1e300), ROWS), "action holds NaN .* row 17"),
    "images": ((np.zeros((50, 4, 4)),) * 3, r"obs has the shape \(50, 4, 4\)"),
    "scalars": ((ROWS[:, 0], FEW, ROWS[:, 0]), r"obs is one float a row.*\[samples, 1"),
    "number": ((1.0, FEW, ROWS), "obs is a single number"),
    "widths": ((ROWS, FEW, ROWS[:, :1]), r"\(50, 2\) but next_obs \(50, 1\)"),
    "ragged": (([[1.0], [1.0, 2.0]] * 25, FEW, ROWS), "rows of obs differ in shape"),
    "words": ((["a"] * 50, FEW, ROWS), "obs holds <U1 values, not numbers"),
    "dicts": (([{"a": 1}] * 50, FEW, ROWS), "object values.*FlattenObservation"),
    "columns": ((ROWS, FEW[:, None], ROWS), "integers in rows of 1"),
    "negative": ((ROWS, FEW - 1, ROWS), "actions from -1 to -1, but they must be 0"),
    "mixed": ((FEW, ROWS, FEW), "indices but the actions are vectors"),
    "keys": ({"obs": ROWS, "next_obs": ROWS}, "no action among their keys"),
    "pair": ((ROWS, ROWS), "from a tuple of 2. Give transitions .*Minari.*Gymnasium"),
    "nothing": (None, "from a NoneType. Give transitions"),
    "function": (lambda: 3, "makes a int, not a Gymnasium environment. Give"),
    "id": ("CartPool-v1", "cannot make 'CartPool-v1' .*CartPole.*Check the id"),
    "module": ("nowhere:Env-v0", "cannot make 'nowhere:Env-v0' "),
    "no episodes": (recorded(), "no episodes"),
    "episode": (recorded((ROWS, FEW)), "episode 0 has 50 observations and 50 actions"),
    "dict episode": (
        recorded((ROWS, FEW[1:]), ({"goal": ROWS}, FEW)),
        "episode 1 holds a dict.*FlattenObservation",
    ),
}


@pytest.mark.parametrize(("data", "message"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_complaints_name_the_thing_and_the_remedy(data, message):
    with pytest.raises(SourceError, match=message):
        fit(data)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"observation": spaces.Dict(a=PLAIN)}, "a Dict space.*FlattenObservation"),
        ({"action": spaces.MultiDiscrete([2, 2])}, "a MultiDiscrete space.*Wrap"),
    ],
)
def test_spaces_that_no_model_reads(named, message):
    (part,) = named
    environment = Strange(**named)
    with pytest.raises(DomainError, match=f"its {part}_space is {message}"):
        fit(lambda: environment)
    assert (environment.closed, environment.taken) == (True, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_actions": 2}, "actions from 0 to 2, but .* 0 … 1. .*num_actions"),
        ({"policy": lambda obs: 0}, "a policy acts in an environment.* Sampled of 3"),
        ({"layers": ()}, r"layers are \(\)"),
    ],
)
def test_options_that_do_not_fit_the_data(options, message):
    with pytest.raises(SourceError, match=message):
        fit(turning(), **options)


@pytest.mark.parametrize("advice", [2, 0.5, np.zeros(3), (np.array(1), None), "left"])
def test_a_policy_must_return_an_action(advice):
    with pytest.raises(SourceError, match=r"no action of Discrete\(2\)"):
        fit(Count(), policy=lambda obs: advice, samples=50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_steps": 500}, "max_steps is 500. Give a multiple of 1,000"),
        ({"patience": 0}, "patience is 0. Give more than zero"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(SourceError, match=message):
        pm.ModelSettings(**options)


def test_training_that_diverges_says_so():
    with pytest.raises(SourceError, match="smaller learning_rate"):
        stop_early(iter("abcd"), lambda stage: np.nan, 2, lambda error: None)
