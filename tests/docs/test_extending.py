"""The examples of the page on extending: short, and true to what the page says."""

import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import policymix as pm
from policymix.cli.main import obey
from policymix.environments import registry
from policymix.methods import recipes
from policymix.storage.runs import read_run
from policymix.training.setup import build_setup

from support.own_probes import unoptimised as unoptimised

pytestmark = [pytest.mark.learning, pytest.mark.shown]

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
SECTIONS = {
    part.partition("\n")[0]: re.findall(r"```python\n(.*?)```", part, flags=re.DOTALL)
    for part in PAGE.split("\n## ")[1:]
}
EXAMPLES = (
    "A kernel",
    "A domain",
    "A domain with a name",
    "A method",
    "A trust",
    "A mixture",
    "A learner",
    "An encoder",
)


@pytest.fixture(scope="module")
def page(unoptimised):
    """What is defined when all blocks of the page have run."""
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "METHODS", dict(recipes.METHODS))
        patch.setattr(registry, "DOMAINS", dict(registry.DOMAINS))
        for blocks in SECTIONS.values():
            for block in blocks:
                exec(block, names)
        yield names


def test_an_example_is_one_block_of_at_most_thirty_lines():
    assert [title for title, blocks in SECTIONS.items() if blocks] == list(EXAMPLES)
    for title in EXAMPLES:
        (block,) = SECTIONS[title]
        assert len(block.splitlines()) <= 30, title


@pytest.mark.parametrize("precision", [0.5, 1.0, 30.0])
@pytest.mark.parametrize("size", [1, 2])
def test_the_kernel_is_a_density(page, size, precision):
    kernel = page["Laplace"](precision)
    prediction = jnp.full(size, 0.3)
    axis = np.linspace(-20, 20, 801) / precision
    points = 0.3 + np.stack(np.meshgrid(*[axis] * size), axis=-1).reshape(-1, size)
    logs = jax.vmap(kernel, (None, 0))(prediction, jnp.asarray(points))
    cell = (axis[1] - axis[0]) ** size
    assert float(jnp.exp(logs).sum()) * cell == pytest.approx(1.0, abs=2e-3)


def test_the_kernel_judges_the_domains_sources_through_their_encoder(page):
    library = page["ready"].sources
    obs, action, next_obs = jnp.array([0.25]), jnp.array(1), jnp.array([0.35])
    for source, found in zip(
        library.sources, library.log_likelihoods(obs, action, next_obs), strict=True
    ):
        assert isinstance(source.kernel, page["Laplace"])
        predicted, seen = map(library.encoder, (source.dynamics(obs, action), next_obs))
        assert found == pytest.approx(float(source.kernel(predicted, seen)), abs=1e-3)


@pytest.mark.parametrize("place", [0, 1])
def test_neither_source_arrives_alone(page, place):
    target, source = page["task"].target, page["sources"].sources[place]
    obs = target.initial(jax.random.key(0))
    for _ in range(target.horizon):
        obs, _, terminated = target.step(None, obs, source.policy(obs))
        assert not terminated


def test_the_domain_is_solved_in_the_fewest_steps(page):
    before, after = page["trained"].rows
    target = page["task"].target
    distance = 1.0 - float(target.initial(jax.random.key(0))[0])
    assert (before.score, before.step) == (-target.horizon, 0)
    assert (after.score, after.step) == (-np.ceil(distance / 0.1), 500)


def test_the_belief_trusts_each_source_where_it_is_right(page):
    weights = page["trained"].agents[0].belief.weights_of
    assert weights(np.array([[0.2]], np.float32))[0, 0] > 0.99
    assert weights(np.array([[0.8]], np.float32))[0, 1] > 0.99


def test_rows_have_the_methods_name(page):
    assert {row.method for row in page["trained"].rows} == {"eager_mars"}


def program(page, method):
    """All that a compilation depends on: structure, shapes and kinds of numbers."""
    problem = build_setup(page["ready"], method, page["small"])
    arrays, rest = eqx.partition(problem, eqx.is_array)
    shapes = [(a.shape, a.dtype) for a in jax.tree.leaves(arrays)]
    return jax.tree.structure(arrays), shapes, rest


@pytest.mark.parametrize("name", ["mars-explicit", "mapse", "follow", "jumpstart"])
def test_the_method_differs_from_others_in_numbers_only(page, name):
    ours, theirs = (program(page, m) for m in (page["eager_mars"], name))
    assert ours[:2] == theirs[:2]
    assert eqx.tree_equal(ours[2], theirs[2])
    assert ours[:2] != program(page, "mars-reward")[:2]


def test_the_trust_knows_its_places_and_trains_no_mixture(page):
    weights = page["West"]().weights
    assert weights(None, None, jnp.array([0.2]), jnp.array(0)).tolist() == [1, 0]
    assert weights(None, None, jnp.array([0.8]), jnp.array(0)).tolist() == [0, 1]
    assert build_setup(page["ready"], page["by_place"], page["small"]).mixture is None


def test_the_domain_is_known_by_name_and_run_from_its_file(page, tmp_path):
    file, out = tmp_path / "channel.py", tmp_path / "out"
    file.write_text("".join(SECTIONS[title][0] for title in EXAMPLES[:3]))
    assert pm.load_task("channel").domain.study.title == "The channel"
    command = ["run", "channel", "--methods", "scratch", "--steps", "100"]
    assert obey([*command, "--load", str(file), "--out", str(out)]) == 0
    assert read_run(out).facts["domain"] == "channel"


def test_the_method_is_known_by_name(page):
    assert recipes.find_recipe("eager-mars", 2) is page["eager_mars"]


def test_the_mixture_trusts_each_source_where_it_is_right(page):
    weights = page["forgetful"].agents[0].belief.weights_of
    assert weights(np.array([[0.25]], np.float32))[0, 0] > 0.99
    assert weights(np.array([[0.75]], np.float32))[0, 1] > 0.99
    assert page["forgetful"].rows[-1].score == -10


def test_the_learner_keeps_a_row_for_each_stretch(page):
    agent = page["setup"].agent
    table = jnp.arange(40.0).reshape(20, 2)
    assert agent.values(table, jnp.array([0.13])).tolist() == [4.0, 5.0]
    assert page["rows"][-1].score == -10


def test_the_encoder_knows_that_a_circle_closes(page):
    north, almost = page["Compass"]()(jnp.array([0.0])), 2 * np.pi - 0.01
    assert jnp.linalg.norm(page["Compass"]()(jnp.array([almost])) - north) < 0.011
    likely = page["turning"].log_likelihoods
    seen = likely(jnp.array([almost]), jnp.array(0), jnp.array([0.09]))
    assert seen[0] > seen[1]
