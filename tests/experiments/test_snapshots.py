"""Looks at a mixture: maps in percent, shares of right trust, files that keep both."""

import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.belief import Belief
from policymix.core.errors import FileFormatError
from policymix.domains.cartpole.experiment import (
    ANGLE,
    CARTPOLE,
    POSITION,
    VELOCITIES,
)
from policymix.domains.maze.files import load_mazes
from policymix.domains.maze.task import ROOMS
from policymix.environments.episodes import play
from policymix.experiments.snapshots import (
    EPISODES,
    LOOK_SEED,
    POINTS,
    Look,
    check_seen,
    look,
    map_of,
    read_snapshots,
    reference,
    walked,
)
from policymix.experiments.snapshots import FORMAT as SNAPSHOTS
from policymix.experiments.watched import with_looks
from policymix.storage.folders import ARRAYS, MANIFEST, pack, write_folder
from policymix.training.agent import TrainedAgent
from policymix.training.run import new_run
from policymix.training.task import load_task

from support.probes import HELPFUL, MIXED


def stub(weigh, action=0):
    """An agent that takes one action and believes a function of observations."""

    class CompiledAdvice(Belief):
        def __init__(self):
            pass

        def weights_of(self, rows):
            return weigh(rows)

    class Stub(TrainedAgent):
        def __init__(self):
            pass

        @property
        def belief(self):
            return CompiledAdvice()

        def predict(self, obs, advised=True):
            return np.full(len(obs), action)

    return Stub()


def trusting(chosen, count):
    """An agent that trusts one of the sources fully in each of the rows."""
    return stub(lambda rows: np.eye(count)[np.broadcast_to(chosen, len(rows))])


@pytest.fixture(scope="module")
def maze():
    return load_task("maze")


@pytest.fixture(scope="module")
def known(maze):
    return reference(maze)


@pytest.fixture(scope="module")
def first(maze, known):
    """The look before the first step, at two trials of MARS."""
    agents = new_run(maze, "mars", maze.domain.settings, trials=2).agents()
    return look(maze, known, 0, agents), agents


def test_the_map_of_a_maze_has_the_percents_of_the_first_agent(first):
    weights, agent = first[0].arrays["weights"], first[1][0]
    assert weights.shape == (load_mazes().target.walls.size, len(ROOMS))
    np.testing.assert_allclose(weights.sum(axis=1, dtype=int), 100, atol=2)
    exact = [agent.belief.weights(jnp.array(cell)) for cell in (0, 500, 840)]
    np.testing.assert_allclose(weights[[0, 500, 840]], 100 * np.array(exact), atol=0.51)


def test_an_untrained_mixture_is_right_somewhere_between_never_and_always(first, known):
    shares = first[0].arrays["right"]
    assert shares.shape == (2,)
    assert np.all((shares >= 0) & (shares <= 1))
    for share, agent in zip(shares, first[1], strict=True):
        trusted = agent.belief.weights_of(known.states).argmax(axis=1)
        assert share == np.mean(trusted == known.right)


def test_who_knows_the_truth_is_always_right_and_who_denies_it_never():
    known = reference(MIXED)
    assert known is not None
    half = np.arange(len(known.states)) % 2
    agents = [trusting(chosen, 2) for chosen in (0, 1, half)]
    found = look(MIXED, known, 7, agents)
    assert found.step == 7
    assert list(found.arrays) == ["right"]
    np.testing.assert_array_equal(found.arrays["right"], [1, 0, 1 - half.mean()])


def test_the_room_decides_which_source_is_right_in_a_maze(maze, known):
    walls = np.asarray(load_mazes().target.walls)
    row, column = np.divmod(known.states, walls.shape[1])
    room = np.select(
        [(row <= 14) & (column <= 14), column <= 14, row > 14], [0, 1, 2], 3
    )
    names = np.array(maze.sources.names)[known.right]
    np.testing.assert_array_equal(names, np.array(ROOMS)[room])
    assert set(names) == set(ROOMS)
    assert not walls.ravel()[known.states].any()


def test_a_map_and_a_share_are_of_the_cells_they_belong_to(maze, known):
    by_number = stub(lambda rows: np.eye(4)[rows % 4])
    arrays = look(maze, known, 0, [by_number]).arrays
    np.testing.assert_array_equal(
        arrays["weights"], 100 * np.eye(4)[np.arange(841) % 4]
    )
    assert arrays["right"] == np.mean(known.states % 4 == known.right)


@pytest.mark.parametrize("name", ["maze", "probe"])
def test_reference_states_are_the_same_on_each_call(maze, name):
    task = {"maze": maze, "probe": MIXED}[name]
    one, other = reference(task), reference(task)
    assert one is not None
    assert other is not None
    np.testing.assert_array_equal(one.states, other.states)
    np.testing.assert_array_equal(one.right, other.right)
    start = one.states[0]
    assert np.sum(one.states == start) >= EPISODES


def test_without_a_right_source_there_is_no_reference():
    assert reference(HELPFUL) is None
    assert look(HELPFUL, None, 3, [trusting(0, 2)]) == Look(3, {})


def of_plane(weigh):
    """The first of two weights over angle and position."""

    def weights(rows):
        share = weigh(*rows.T)
        return np.stack([share, 1 - share], axis=1)

    view = CARTPOLE.study.view
    assert view is not None
    (drawn,) = map_of(view, MIXED, stub(weights)).values()
    assert drawn.shape == (len(ANGLE.values), len(POSITION.values), 2)
    np.testing.assert_array_equal(drawn.sum(axis=2), 100)
    return drawn[:, :, 0]


def test_the_plane_lies_over_position_and_angle():
    by_position = of_plane(lambda x, v, angle, w: (x > 0) * 1.0)
    np.testing.assert_array_equal(
        by_position, np.tile(100 * (POSITION.values > 0), (33, 1))
    )
    by_angle = of_plane(lambda x, v, angle, w: (angle > 0.105) * 1.0)
    np.testing.assert_array_equal(
        by_angle.T, np.tile(100 * (ANGLE.values > 0.105), (97, 1))
    )


def test_the_plane_averages_over_both_velocities():
    assert np.all(of_plane(lambda x, v, angle, w: 0.5 + v) == 50)
    assert np.all(of_plane(lambda x, v, angle, w: 0.5 + w) == 50)
    fast = np.mean(VELOCITIES > 0.3)
    both = of_plane(lambda x, v, angle, w: (v > 0.3) * (w > 0.3) * 1.0)
    assert np.all(both == round(100 * fast**2))


def test_paths_of_the_lander_show_what_is_believed_where_it_flies():
    pytest.importorskip("Box2D")
    task = load_task("lander")
    idle = stub(lambda rows: np.eye(3)[np.where(rows[:, 1] > 0.5, 0, 2)])
    flown = walked(task, idle)
    assert flown["places"].shape == (EPISODES, POINTS, 2)
    assert flown["weights"].shape == (EPISODES, POINTS, 3)
    high = flown["places"][:, :, 1] > 0.5
    np.testing.assert_array_equal(flown["weights"][:, :, 0], 100 * high)
    np.testing.assert_array_equal(flown["weights"][:, :, 2], 100 * ~high)
    episodes = play(task.domain.family().target, idle.predict, EPISODES, LOOK_SEED)
    for track, score, episode in zip(
        flown["places"], flown["scores"], episodes, strict=True
    ):
        np.testing.assert_array_equal(track[[0, -1]], episode.obs[[0, -1], :2])
        assert score == pytest.approx(episode.total)


def test_what_was_seen_is_read_back(maze, known, tmp_path):
    looks = [
        look(maze, known, step, [stub(lambda rows, i=i: np.eye(4)[(rows + i) % 4])] * 2)
        for i, step in enumerate((0, 150, 1_000))
    ]
    write_folder(tmp_path / "seen", with_looks(maze, [], looks).files())
    facts, arrays = read_snapshots(tmp_path / "seen")
    assert facts["domain"] == "maze"
    assert facts["sources"] == list(maze.sources.names)
    assert facts["steps"] == [0, 150, 1_000]
    assert set(arrays) == {"weights", "right"}
    for name, array in arrays.items():
        seen = np.stack([look.arrays[name] for look in looks])
        np.testing.assert_array_equal(array, seen, strict=True)


def test_without_looks_there_are_no_files(tmp_path):
    assert with_looks(MIXED, [], []).files() == {}
    write_folder(tmp_path / "blind", with_looks(HELPFUL, [], [Look(0, {})]).files())
    assert read_snapshots(tmp_path / "blind")[1] == {}


RIGHT = {"right": np.array([[0.25, 0.75]])}


@pytest.mark.parametrize(
    ("facts", "arrays", "field"),
    [
        ({"steps": []}, RIGHT, "steps"),
        ({"steps": ["0"]}, RIGHT, "steps"),
        ({"steps": [5, 0]}, RIGHT, "steps"),
        ({"sources": "abc"}, RIGHT, "sources"),
        ({}, {"right": np.zeros((2, 2))}, "right"),
        ({}, {"right": np.full((1, 2), np.nan)}, "right"),
        ({}, {"weights": np.zeros((1, 2, 3), np.uint8)}, "weights"),
    ],
)
def test_what_nobody_can_have_seen_is_refused(tmp_path, facts, arrays, field):
    seen = {"domain": "maze", "sources": list("abcd"), "steps": [0]} | facts
    write_folder(tmp_path / "seen", pack(SNAPSHOTS, 1, seen, arrays))
    with pytest.raises(FileFormatError) as caught:
        read_snapshots(tmp_path / "seen")
    assert caught.value.field == field


def test_a_task_of_ones_own_may_have_the_name_of_a_domain():
    view = {"cells": 3, "columns": 2}
    facts = {"domain": "maze", "sources": ["only"], "steps": [0], "view": view}
    check_seen(facts, {"weights": np.zeros((1, 3, 1))})


@pytest.mark.parametrize("name", [MANIFEST, ARRAYS])
def test_a_snapshot_that_was_altered_is_named(tmp_path, name):
    looks = [Look(0, {"right": np.array([0.25, 0.75])})]
    content = with_looks(MIXED, [], looks).files()
    content[name] = content[name][:-9] + b"0" + content[name][-8:]
    write_folder(tmp_path / "seen", content)
    with pytest.raises(FileFormatError) as caught:
        read_snapshots(tmp_path / "seen")
    assert caught.value.path == str(tmp_path / "seen" / name)
