"""A new domain is one file; run, reproduce and report know it by name."""

import json

import pytest

from policymix.cli.main import obey
from policymix.core.errors import DomainError
from policymix.environments import registry
from policymix.reports.report import FIGURES, PAGE
from policymix.reports.results import read_results

from support.drafts import draw_drafts

pytestmark = pytest.mark.learning

FILE = '''
"""A corridor whose floor carries to the right in one half and to the left in the other.
"""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import policymix as pm
from policymix.environments.base import DeterministicDomain, Family
from policymix.environments.study import Axis, Plane

LENGTH = 8


class Corridor(DeterministicDomain):
    """Move by one; where a drift is, moves are turned round. The goal is at the end."""

    turned: tuple[bool, ...] = eqx.field(static=True)
    horizon: int = eqx.field(static=True, default=24)

    @property
    def spec(self):
        return pm.TaskSpec(pm.Discrete(LENGTH), pm.Discrete(2))

    def initial(self, key):
        return jnp.zeros((), int)

    def transition(self, obs, action):
        step = jnp.where(jnp.asarray(self.turned)[obs], 1 - 2 * action, 2 * action - 1)
        return jnp.clip(obs + step, 0, LENGTH - 1)

    def reward(self, obs, action, next_obs):
        return jnp.where(next_obs == LENGTH - 1, 1.0, -0.1)

    def terminal(self, obs):
        return obs == LENGTH - 1


HALF = (False,) * 4 + (True,) * 4
FAMILY = Family(
    "corridor",
    Corridor(turned=HALF),
    {"plain": Corridor(turned=(False,) * 8), "turned": Corridor(turned=(True,) * 8)},
)


def sources():
    """Each knows one kind of floor."""
    return pm.SourceLibrary(
        [
            pm.SourceTask(
                name,
                pm.table_policy(jnp.full(LENGTH, int(name == "plain")), 2),
                FAMILY.sources[name].transition,
                pm.Indicator(),
            )
            for name in FAMILY.sources
        ]
    )


def right(names):
    plain, turned = names.index("plain"), names.index("turned")
    return lambda obs: jnp.where(jnp.asarray(HALF)[obs], turned, plain)


pm.register_domain(
    pm.Domain(
        name="corridor",
        family=lambda: FAMILY,
        encoder=pm.encoders.OneHot(LENGTH),
        right=right,
        shipped=sources,
        settings=replace(
            pm.Settings(), steps=400, evaluate_every=100, layers=None, learning_rate=0.5
        ),
        study=pm.Study(
            title="The corridor",
            trials=2,
            quick=(2, 200),
            looks=(0, 200),
            methods=("mars", "mapse", "phi1", "scratch"),
            sweeps={"mapse": ("mapse_reuse", (0.5,))},
            truth="the floor that is there",
            view=Plane(
                x=Axis("place", np.arange(LENGTH)),
                y=Axis("nothing", np.arange(2)),
                states=lambda: np.tile(np.arange(LENGTH)[None, :, None], (2, 1, 1)),
            ),
        ),
    )
)
'''


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Types a command that loads the file; the domain is forgotten in the end."""
    file = tmp_path_factory.mktemp("mine") / "corridor.py"
    file.write_text(FILE)
    yield lambda *words: obey([*map(str, words), "--load", str(file)])
    registry.DOMAINS.pop("corridor", None)


@pytest.fixture(scope="module")
def reproduced(command, tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduced") / "out"
    with pytest.MonkeyPatch.context() as patch:
        draw_drafts(patch)
        assert command("reproduce", "corridor", "--quick", "--out", out) == 0
    return out


def test_the_experiment_has_every_part(reproduced):
    (results,) = read_results(reproduced)
    assert set(results.curves) == {"mars", "mapse", "phi1", "scratch"}
    assert list(results.sweeps) == [("mapse", "mapse_reuse")]
    assert results.title == "The corridor"


def test_the_report_has_the_belief_map(reproduced):
    (results,) = read_results(reproduced)
    weights = results.seen["mars"].arrays["weights"]
    assert weights.shape == (2, 2, 8, 2)
    page = (reproduced / PAGE).read_text("utf-8")
    assert "The corridor" in page
    assert '"kind": "plane"' in page or '"kind":"plane"' in page
    assert (reproduced / FIGURES / "corridor-mixture.png").exists()


def test_the_mixture_finds_the_floor(reproduced):
    (results,) = read_results(reproduced)
    assert results.seen["mars"].arrays["right"][-1].min() > 0.9


def test_it_runs_and_reports_by_name(command, tmp_path, monkeypatch):
    draw_drafts(monkeypatch)
    out = tmp_path / "run"
    methods = ("--methods", "mars", "scratch")
    assert command("run", "corridor", *methods, "--steps", 100, "--out", out) == 0
    assert json.loads((out / "run.json").read_text())["domain"] == "corridor"
    assert command("report", out) == 0
    assert (out / PAGE).exists()


def test_names_of_the_package_are_taken():
    with pytest.raises(DomainError, match="Give yours another name"):
        registry.register_domain(registry.find_domain("maze"))
