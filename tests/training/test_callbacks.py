"""What callbacks are told, how they stop, what loggers write; tests elsewhere."""

import csv
from dataclasses import replace

import jax
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from policymix.core.errors import DomainError, PolicymixError
from policymix.storage.runs import Row
from policymix.training.loggers import CSVLogger, TensorBoardLogger
from policymix.training.train import train

from support.probes import (
    LONG,
    MIXED,
    QUICK,
    Corridor,
    Numbered,
    best_return,
    on_host,
)

BOTH = pytest.mark.parametrize(
    "task", [MIXED, on_host(MIXED)], ids=["compiled", "host"]
)


def run(task=MIXED, method="mars", **more):
    options = {"steps": 300, "trials": 2, "settings": QUICK, "progress": False}
    return train(task, method, **{**options, **more})


def alike(one, other):
    """The same rows, but for the rounding of sums."""
    told = ([row[2:] for row in result.rows] for result in (one, other))
    np.testing.assert_allclose(*told, rtol=1e-5)


def learned_alike(one, other):
    pairs = zip(one.agents, other.agents, strict=True)
    for states in ((a.trial.agent, b.trial.agent) for a, b in pairs):
        jax.tree.map(np.testing.assert_array_equal, *states)


@pytest.fixture(scope="module")
def usual():
    return run()


@pytest.fixture(scope="module")
def led():
    return run(method="phi1")


@BOTH
def test_every_evaluation_is_told_with_agents_and_beliefs(task, usual):
    told = []

    def look(now):
        told.append((now.step, now.rows))
        assert now.score == pytest.approx(np.mean([row.score for row in now.rows]))
        trust = now.agents[1].belief.weights_of(np.arange(LONG.length))
        assert trust.shape == (LONG.length, 2)
        assert list(now.trust) == ["good", "bad"]
        np.testing.assert_allclose(sum(now.trust.values()), [1.0, 1.0], rtol=1e-5)

    result = run(task, callback=look)
    assert [step for step, _ in told] == [0, 100, 200, 300]
    assert [row for _, rows in told for row in rows] == list(result.rows)
    alike(result, usual)
    assert result.status == "finished"


def test_trust_is_the_mean_weight_where_trials_have_been():
    """After k < 256 steps the replay holds every state that was visited."""
    found = {}

    def look(now):
        states = now.run.loop.rows[:, : max(now.step, 1), 0].astype(int)
        found[now.step] = [
            (agent.belief.weights_of(seen)[:, 0].mean(), now.trust["good"][place])
            for place, (agent, seen) in enumerate(zip(now.agents, states, strict=True))
        ]

    run(steps=256, settings=replace(QUICK, evaluate_every=256), callback=look)
    assert set(found) == {0, 256}
    for pairs in found.values():
        for expected, trust in pairs:
            assert trust == pytest.approx(expected, rel=1e-5)
    assert found[256][0][0] > found[0][0][0]


def test_who_says_false_stops_and_all_others_are_told():
    heard = []
    answers = {0: None, 100: 0, 200: np.False_}
    result = run(
        method="scratch",
        callback=[lambda now: answers[now.step], lambda now: heard.append(now.step)],
    )
    assert result.status == "stopped"
    assert heard == [0, 100, 200]
    assert [row.step for row in result.rows] == [0, 0, 100, 100, 200, 200]
    learned_alike(result, run(method="scratch", steps=200))


def test_who_stops_at_the_end_has_not_stopped_anything():
    assert run(method="scratch", callback=lambda now: now.step < 300).status == (
        "finished"
    )


def test_a_milestone_does_not_pass_off_later_agents_as_its_own():
    kept = []
    run(method="scratch", callback=kept.append)
    assert kept[0].score == pytest.approx(np.mean([row.score for row in kept[0].rows]))
    with pytest.raises(PolicymixError, match=r"this is step 300, .* step 0 is gone"):
        _ = kept[0].agents
    assert len(kept[-1].agents) == 2


def test_a_method_without_a_mixture_has_neither_belief_nor_trust():
    kept = []
    run(method="scratch", callback=kept.append)
    assert (kept[-1].belief, kept[-1].trust) == (None, {})


def test_a_table_has_the_rows_as_they_come(tmp_path):
    path, seen = tmp_path / "new" / "log.csv", []

    def count(now):
        del now
        seen.append(len(path.read_text().splitlines()))

    result = run(callback=[CSVLogger(path), count])
    assert seen == [3, 5, 7, 9]
    with path.open() as file:
        header, *lines = csv.reader(file)
    assert header == [*Row._fields, "trust/good", "trust/bad"]
    told = [list(map(float, line[2:8])) for line in lines]
    np.testing.assert_allclose(told, [row[2:] for row in result.rows])
    for line in lines:
        assert float(line[-2]) + float(line[-1]) == pytest.approx(1.0, rel=1e-5)


def test_a_table_is_not_overwritten_nor_mixed_up(tmp_path):
    (tmp_path / "old.csv").write_text("precious")
    with pytest.raises(PolicymixError, match=r"old\.csv has the columns precious"):
        run(method="scratch", callback=CSVLogger(tmp_path / "old.csv"))
    shared = CSVLogger(tmp_path / "new.csv")
    for method in ("scratch", "phi1"):
        run(method=method, steps=100, callback=shared)
    assert len(shared.path.read_text().splitlines()) == 9
    with pytest.raises(PolicymixError, match=r"a training with scratch already"):
        run(method="scratch", callback=CSVLogger(tmp_path / "new.csv"))
    with pytest.raises(PolicymixError, match="CSVLogger of its own"):
        run(callback=shared)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_tensorboard_reads_means_and_trials(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

    logger = TensorBoardLogger(tmp_path)
    result = run(callback=logger)
    logger.close()
    events = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    assert set(events.Runs()) == {"mars", "mars/trial-0", "mars/trial-1"}
    tags = {"test/score", "test/score_alone", "train/return"}
    tags |= {f"transfer/source_weight/{name}" for name in ("good", "bad")}
    assert set(events.Runs()["mars"]["tensors"]) == tags
    found = events.Tensors("mars/trial-1", "test/score")
    scores = [event.tensor_proto.float_val[0] for event in found]
    assert [event.step for event in found] == [0, 100, 200, 300]
    np.testing.assert_allclose(scores, [r.score for r in result.rows if r.trial == 1])


@BOTH
def test_a_test_elsewhere_is_played_elsewhere_and_changes_nothing_else(task, led):
    dearer = Corridor(length=8, cost=-0.2, horizon=30)
    result = run(task, "phi1", evaluate_on=dearer)
    assert result.rows[-1].score == pytest.approx(best_return(dearer))
    assert led.rows[-1].score == pytest.approx(best_return(LONG))
    told = ([row.training for row in each.rows] for each in (result, led))
    np.testing.assert_allclose(*told, rtol=1e-5)
    learned_alike(result, led)


@BOTH
def test_the_same_place_gives_the_same_rows(task, led):
    alike(run(task, "phi1", evaluate_on=lambda: TimeLimit(Numbered(LONG), 30)), led)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Corridor(length=9), r"observations are Discrete\(n=9\).*Discrete\(n=8\)"),
        ("CartPole-v1", "its observations are Box"),
    ],
)
def test_another_kind_of_place_is_refused(place, words):
    with pytest.raises(DomainError, match=rf"^evaluate_on=\S+: .*{words}"):
        run(method="phi1", evaluate_on=place)
