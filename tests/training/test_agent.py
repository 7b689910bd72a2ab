"""A trained agent: asked, tested, kept in a folder and read back."""

import contextlib
import copy
import json
from dataclasses import replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from policymix.core.encoders import Standardise
from policymix.core.errors import FileFormatError, PolicymixError
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.storage.folders import ARRAYS, MANIFEST, pack, read_arrays, read_manifest
from policymix.storage.records import LATER
from policymix.training.agent import FORMAT, VERSION, TrainedAgent
from policymix.training.task import TransferTask, prepare
from policymix.training.train import train

from support.own_probes import BRIEF, Line, stepping
from support.own_probes import unoptimised as unoptimised
from support.probes import LONG, MIXED, QUICK, best_return

pytestmark = [pytest.mark.learning, pytest.mark.usefixtures("unoptimised")]

CELLS = np.arange(29 * 29)


def trained(task, method, steps, settings=None):
    result = train(task, method, steps=steps, settings=settings, progress=False)
    return result.agents[0]


@pytest.fixture(scope="module")
def walker():
    return trained(MIXED, "mars", 1_000, QUICK)


@pytest.fixture(scope="module")
def loner():
    return trained(MIXED, "scratch", 100, QUICK)


@pytest.fixture(scope="module")
def wanderer():
    return trained("maze", "phi1", 300)


@pytest.fixture(scope="module")
def folder(wanderer, tmp_path_factory):
    place = tmp_path_factory.mktemp("trained") / "agent"
    wanderer.save(place)
    return place


def test_a_state_has_an_action_and_rows_have_one_each(walker):
    assert walker.predict(0) == 1
    assert type(walker.predict(jnp.array(3))) is int
    np.testing.assert_array_equal(walker.predict(np.arange(8)), np.ones(8))


@pytest.mark.parametrize("shape", [(2, 3), (1, 1)])
def test_an_observation_of_another_shape_is_refused(walker, shape):
    with pytest.raises(PolicymixError, match=r"acts on \(\), or on rows"):
        walker.predict(np.zeros(shape, int))


def test_an_evaluation_is_the_return_of_greedy_episodes(walker):
    assert walker.evaluate(3) == pytest.approx(best_return(LONG))


def test_unadvised_an_agent_acts_as_its_student(walker):
    own = np.argmax(walker.trial.agent.student.entries[0], axis=1)
    np.testing.assert_array_equal(walker.predict(np.arange(8), advised=False), own)
    assert walker.predict(3, advised=False) == own[3]


def test_beliefs_trust_the_source_that_predicts(walker):
    weights = walker.belief.weights_of(np.arange(LONG.length))
    assert weights.shape == (LONG.length, 2)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-5)
    assert np.all(weights[:, 0] > 0.9)


def test_a_belief_is_drawn_where_its_target_leads_or_where_it_is_told(walker):
    picture = walker.belief.plot()
    (drawn,) = picture.axes[0].collections
    assert len(drawn.get_offsets()) >= 500
    assert (
        len(walker.belief.plot(np.arange(3)).axes[0].collections[0].get_offsets()) == 3
    )
    assert "<img" in walker._repr_html_()
    with pytest.raises(PolicymixError, match=r"shape \(3, 2\) cannot be drawn"):
        walker.belief.plot(np.zeros((3, 2)))
    lonely = replace(walker.belief, visited=None)
    with pytest.raises(PolicymixError, match="knows no states to draw"):
        lonely.plot()
    assert "<img" not in lonely._repr_html_()


def test_a_test_has_episodes(walker):
    with pytest.raises(PolicymixError, match="episodes is 0: it must be at least 1"):
        walker.evaluate(episodes=0)


def test_without_a_mixture_there_is_no_belief(loner):
    with pytest.raises(PolicymixError, match="scratch learns no mixture"):
        _ = loner.belief


def test_an_agent_comes_back_as_it_was_saved(wanderer, folder):
    back = TrainedAgent.load(folder)
    jax.tree.map(np.testing.assert_array_equal, back.trial, wanderer.trial)
    chosen = wanderer.predict(CELLS)
    np.testing.assert_array_equal(back.predict(CELLS), chosen)
    assert len(set(chosen.tolist())) > 1
    assert back.evaluate(1) == wanderer.evaluate(1)
    assert (back.method, back.settings) == ("phi1", wanderer.settings)


def test_whole_numbers_among_the_settings_come_back_too(wanderer, tmp_path):
    """Users write scale=1; only the type checks of these tests refuse it."""
    settings = copy.copy(wanderer.settings)
    object.__setattr__(settings, "scale", 1)
    replace(wanderer, settings=settings).save(tmp_path / "agent")
    assert TrainedAgent.load(tmp_path / "agent").settings.scale == 1


@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
@pytest.mark.parametrize("place", [0, 100, -100])
def test_an_altered_byte_is_noticed(folder, tmp_path, name, place):
    for file in folder.iterdir():
        content = bytearray(file.read_bytes())
        if file.name == name:
            content[place] ^= 1
        (tmp_path / file.name).write_bytes(content)
    with pytest.raises(FileFormatError, match=name):
        TrainedAgent.load(tmp_path)


def rewritten(folder, place, facts=None, drop=(), edit=lambda arrays: None):
    """The same folder, signed anew after other facts or with other arrays."""
    manifest = read_manifest(folder, FORMAT, VERSION)
    arrays = read_arrays(folder, manifest)
    for name in drop:
        del arrays[name]
    edit(arrays)
    manifest = {**manifest, **(facts or {})}
    for name, content in pack(FORMAT, VERSION, manifest, arrays).items():
        (place / name).write_bytes(content)
    return place


@pytest.mark.parametrize(
    "facts",
    [
        {"method": "mras"},
        {"method": "mars"},
        {"domain": "labyrinth"},
        {"domain": "cartpole"},
        {"settings": {}},
        {"library": []},
    ],
)
def test_facts_that_do_not_fit_are_refused(folder, tmp_path, facts):
    with pytest.raises(FileFormatError):
        TrainedAgent.load(rewritten(folder, tmp_path, facts))


def test_settings_of_the_wrong_type_are_named(folder, tmp_path):
    settings = json.loads((folder / MANIFEST).read_text())["settings"]
    facts = {"settings": {**settings, "batch": "many"}}
    with pytest.raises(FileFormatError, match=r"settings\.batch"):
        TrainedAgent.load(rewritten(folder, tmp_path, facts))


def test_a_missing_array_is_noticed(folder, tmp_path):
    with pytest.raises(FileFormatError, match="trial"):
        TrainedAgent.load(rewritten(folder, tmp_path, drop=["trial.0"]))


def test_an_agent_that_holds_nan_is_refused(folder, tmp_path):
    def edit(arrays):
        name = next(n for n in arrays if n.startswith("trial.") and arrays[n].ndim > 1)
        arrays[name] = np.full_like(arrays[name], np.nan)

    with pytest.raises(FileFormatError, match=r"trial\.\d+: its array holds NaN"):
        TrainedAgent.load(rewritten(folder, tmp_path, edit=edit))


@pytest.mark.parametrize(
    "change",
    [
        {"layers": [2**62]},
        {"layers": [64] * 1000},
        {"mixture_layers": [10**6, 10**6]},
        {"heads": 2**62},
        {"capacity": 2**62},
    ],
)
def test_settings_of_any_size_are_refused_or_harmless(folder, tmp_path, change):
    settings = json.loads((folder / MANIFEST).read_text())["settings"]
    place = rewritten(folder, tmp_path, {"settings": settings | change})
    with contextlib.suppress(FileFormatError):
        TrainedAgent.load(place)


def test_a_folder_is_not_overwritten(wanderer, folder):
    with pytest.raises(PolicymixError, match="exists already"):
        wanderer.save(folder)


def test_a_method_without_a_name_cannot_be_saved(wanderer, tmp_path):
    nameless = replace(wanderer, method="mine")
    with pytest.raises(PolicymixError, match=r"'mine' has no name .*register_method"):
        nameless.save(tmp_path / "agent")
    assert not (tmp_path / "agent").exists()


def lazy(obs):
    """By chance, so that what it imagines is never the same."""
    return 1 if obs[0] < 0 else int(np.random.default_rng().integers(2))


def line_task(target: Any = Line, name="only"):
    sources = [SourceTask(name, lazy, stepping), SourceTask("still", lazy, resting)]
    return prepare(TransferTask(target, SourceLibrary(sources), horizon=20))


def resting(obs, action):
    return [obs[0], obs[1]]


PLACES = np.stack([np.linspace(-2, 2, 9), np.ones(9)], axis=1)


@pytest.fixture(scope="module")
def guest():
    """An agent on a target of the user's own, with plain functions for sources."""
    settings = replace(BRIEF, own_model=True)
    return trained(line_task(), "mars", 200, settings)


@pytest.fixture(scope="module")
def kept(guest, tmp_path_factory):
    place = tmp_path_factory.mktemp("guest") / "agent"
    guest.save(place)
    return place


def test_an_agent_on_an_own_target_comes_back_with_its_task(guest, kept):
    other = line_task()
    one, two = (given.sources.experts.encoder for given in (other, guest.task))
    assert isinstance(one, Standardise)
    assert isinstance(two, Standardise)
    assert np.any(one.spread != two.spread)
    back = TrainedAgent.load(kept, other)
    jax.tree.map(np.testing.assert_array_equal, back.trial, guest.trial)
    np.testing.assert_array_equal(
        back.belief.weights_of(PLACES), guest.belief.weights_of(PLACES)
    )
    obs, advice = jnp.ones(2), jnp.ones((2, 2))

    def values_of(agent):
        return agent.setup.agent.action_values(agent.trial.agent, obs, advice)

    found, expected = values_of(back), values_of(guest)
    np.testing.assert_array_equal(found, expected)
    assert back.settings == guest.settings


def test_an_agent_on_an_own_target_acts_and_is_tested(guest):
    assert guest.predict([1, 1]) in (0, 1)
    assert guest.predict(PLACES).shape == (9,)
    assert -60 < guest.evaluate(2) < 0
    weights = guest.belief.weights_of(PLACES)
    assert weights.shape == (9, 3)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-5)


def test_an_own_target_is_needed_again(kept):
    with pytest.raises(PolicymixError, match=r"without its sources for 'Line'.*task\)"):
        TrainedAgent.load(kept)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: line_task(lambda: Line()), r"'Line' .*not on 'target'"),
        (lambda: line_task(name="new"), r"'Line' .*'only'.*not on 'Line' .*'new'"),
    ],
)
def test_the_task_of_another_agent_is_refused(kept, other, words):
    with pytest.raises(
        PolicymixError, match=rf"was trained on {words}.*Give that task"
    ):
        TrainedAgent.load(kept, other())


def test_another_task_of_the_same_name_does_not_fit(kept):
    class Line(gymnasium.Env):
        observation_space = spaces.Box(-1, 1, (3,))
        action_space = spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return np.zeros(3, np.float32), {}

        def step(self, action):
            return np.zeros(3, np.float32), 0.0, True, False, {}

    sources = [
        SourceTask(name, lambda obs: 0, lambda obs, a: obs)
        for name in ("only", "still")
    ]
    with pytest.raises(FileFormatError):
        TrainedAgent.load(kept, TransferTask(Line, SourceLibrary(sources)))


def test_functions_for_a_domain_of_the_package_need_their_task_again(tmp_path):
    def balance(obs):
        return 1 if obs[2] + obs[3] > 0 else 0

    source = SourceTask("plain", balance, lambda obs, action: [*obs])
    task = prepare(TransferTask("cartpole", SourceLibrary([source])))
    agent = trained(task, "phi1", 100, replace(BRIEF, steps=100))
    agent.save(tmp_path / "agent")
    with pytest.raises(PolicymixError, match=r"without its sources for 'cartpole'"):
        TrainedAgent.load(tmp_path / "agent")
    back = TrainedAgent.load(tmp_path / "agent", task)
    jax.tree.map(np.testing.assert_array_equal, back.trial, agent.trial)


def test_older_files_come_back_without_what_came_later(wanderer, folder, tmp_path):
    manifest = read_manifest(folder, FORMAT, VERSION)
    settings = {k: v for k, v in manifest["settings"].items() if k not in LATER}
    settings["horizon"] = 300
    arrays = read_arrays(folder, manifest)
    old = {k: v for k, v in manifest.items() if k != "sources"} | {"settings": settings}
    for name, content in pack(FORMAT, VERSION, old, arrays).items():
        (tmp_path / name).write_bytes(content)
    for given in (None, wanderer.task):
        back = TrainedAgent.load(tmp_path, given)
        assert back.settings == wanderer.settings
        np.testing.assert_array_equal(back.predict(CELLS), wanderer.predict(CELLS))
