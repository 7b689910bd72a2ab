"""Advised learners in files: they come back, and foreign files are refused."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import DQN

from policymix.bridges.stable_baselines3 import (
    MapseDQN,
    MapseSAC,
    MarsDQN,
    MarsPPO,
    MarsSAC,
)
from policymix.core.errors import (
    FileFormatError,
    PolicymixError,
)
from policymix.sources.library import SourceLibrary

from support.sb3 import (
    PLACES,
    agent,
    tensor,
)
from support.slope import (
    CONTINUOUS,
    DISCRETE,
    OWN,
    Slope,
    source,
)


class Numbers:
    """A trained model of another library: it only predicts."""

    def predict(self, obs, deterministic=True):
        assert deterministic
        return np.asarray(np.asarray(obs)[..., 0] < 0).astype(int), None


def on_host(obs):
    return 1 if float(obs[0]) < 0 else 0


HOST = SourceLibrary(
    [
        source("model", 1.0, policy=Numbers()),
        source("numpy", -1.0, policy=on_host, dynamics=lambda obs, action: obs * 0.9),
    ]
)
CASES = {
    "MarsDQN": (MarsDQN, DISCRETE, {"heads": 6, "caution": 1.0}),
    "MarsDQN, explicit": (MarsDQN, DISCRETE, {"form": "explicit"}),
    "MarsDQN, lookahead": (MarsDQN, DISCRETE, {"form": "lookahead"}),
    "MarsDQN, host functions": (
        MarsDQN,
        HOST,
        {"form": "explicit", "scale": lambda left: 1.0 + left},
    ),
    "MapseDQN": (MapseDQN, DISCRETE, {"reuse": 0.9}),
    "MarsSAC": (MarsSAC, CONTINUOUS, {}),
    "MarsSAC, explicit": (MarsSAC, CONTINUOUS, {"form": "explicit", "precision": 0.5}),
    "MapseSAC": (MapseSAC, CONTINUOUS, {}),
    "MarsPPO": (MarsPPO, DISCRETE, {}),
    "MarsPPO, continuous": (MarsPPO, CONTINUOUS, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_saved_agent_comes_back_and_goes_on(case, tmp_path):
    kind, sources, options = CASES[case]
    continuous = sources is CONTINUOUS
    model = agent(kind, sources, continuous=continuous, transfer=OWN, **options)
    model.learn(25)
    model.save(tmp_path / "agent")
    assert [file.name for file in tmp_path.iterdir()] == ["agent.zip"]
    found = kind.load(tmp_path / "agent", sources=sources)
    for name in ("form", "heads", "caution", "precision", "reuse", "transfer"):
        assert getattr(found, name, None) == getattr(model, name, None)
    weights = [m.advisor.weights(PLACES) for m in (model, found)]
    np.testing.assert_array_equal(*weights)
    answers = [m.predict(PLACES, deterministic=True)[0] for m in (model, found)]
    np.testing.assert_array_equal(*answers)
    if kind in (MarsDQN, MarsSAC, MarsPPO):
        options = {"deterministic": True, "advised": False}
        alone = [m.predict(PLACES, **options)[0] for m in (model, found)]
        np.testing.assert_array_equal(*alone)
        assert found.spread.value == model.spread.value
    if kind is MarsPPO:
        assert found.hold == model.hold
        values = [m.policy.predict_values(tensor(PLACES)) for m in (model, found)]
        torch.testing.assert_close(*values)
    if kind in (MarsDQN, MarsSAC):
        assert found.contest.means() == model.contest.means()
    if kind is MarsDQN:
        assert found.guide.scale == model.guide.scale
        with torch.no_grad():
            values = [m.q_net(tensor(PLACES)) for m in (model, found)]
        np.testing.assert_array_equal(*values)
    env = Slope(continuous=continuous)
    again = kind.load(tmp_path / "agent.zip", env, sources=sources)
    again.learn(20, reset_num_timesteps=False)
    assert again.num_timesteps == 45
    assert not np.array_equal(again.advisor.weights(PLACES), weights[0])


@pytest.fixture(scope="module")
def saved():
    model = agent(MarsDQN, form="explicit", transfer=OWN)
    model.learn(12)
    buffer = io.BytesIO()
    model.save(buffer, exclude=["_last_obs"])
    return model, buffer


def test_a_file_in_memory(saved):
    model, buffer = saved
    assert zipfile.ZipFile(buffer).testzip() is None
    found = MarsDQN.load(buffer, sources=DISCRETE, scale=0.25)
    np.testing.assert_array_equal(
        found.advisor.weights(PLACES), model.advisor.weights(PLACES)
    )
    assert found._last_obs is None
    assert found.guide.scale == 0.25


def test_a_name_with_a_dot(saved, tmp_path):
    model, _ = saved
    model.save(str(tmp_path / "agent.v1"))
    (tmp_path / "agent.v1").rename(tmp_path / "agent.v1.zip")
    MarsDQN.load(str(tmp_path / "agent.v1"), sources=DISCRETE)


def test_sources_must_be_those_of_the_file(saved):
    _, buffer = saved
    with pytest.raises(PolicymixError, match=r"MarsDQN\.load\(path, sources=library"):
        MarsDQN.load(buffer)
    swapped = SourceLibrary(DISCRETE.sources[::-1], encoder=DISCRETE.encoder)
    with pytest.raises(PolicymixError, match=r"trained with .'left', 'right', 'own'."):
        MarsDQN.load(buffer, sources=swapped)
    other = replace(DISCRETE, encoder=None)
    with pytest.raises(PolicymixError, match="does not belong"):
        MarsDQN.load(buffer, sources=other)


def test_foreign_files_are_refused(tmp_path):
    agent(DQN).save(tmp_path / "plain")
    (tmp_path / "text.zip").write_text("nothing")
    for name in ("plain", "text"):
        with pytest.raises(FileFormatError, match="no advised learner"):
            MarsDQN.load(tmp_path / name, sources=DISCRETE)
    with pytest.raises(FileNotFoundError):
        MarsDQN.load(tmp_path / "absent", sources=DISCRETE)


def test_nothing_is_left_behind_when_saving_fails(saved, tmp_path, monkeypatch):
    model, _ = saved
    model.save(tmp_path / "agent")
    before = (tmp_path / "agent.zip").read_bytes()

    def fail():
        raise RuntimeError("no")

    monkeypatch.setattr(model.advisor, "arrays", fail)
    with pytest.raises(RuntimeError, match="no"):
        model.save(tmp_path / "agent")
    assert [file.name for file in tmp_path.iterdir()] == ["agent.zip"]
    assert (tmp_path / "agent.zip").read_bytes() == before
