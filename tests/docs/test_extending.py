"""The examples of the page on extending: short, and true to what the page says."""

import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.training.setup import build_setup

from support.own_probes import unoptimised as unoptimised

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
SECTIONS = {
    part.partition("\n")[0]: re.findall(r"```python\n(.*?)```", part, flags=re.DOTALL)
    for part in PAGE.split("\n## ")[1:]
}
EXAMPLES = ("A kernel", "A domain", "A method")


@pytest.fixture(scope="module")
def page(unoptimised):
    """What is defined when all blocks of the page have run."""
    names = {}
    for blocks in SECTIONS.values():
        for block in blocks:
            exec(block, names)
    return names


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_is_one_block_of_fewer_than_thirty_lines(title):
    (block,) = SECTIONS[title]
    assert len(block.splitlines()) < 30


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
    library = page["task"].sources
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
    problem = build_setup(page["task"], method, page["small"])
    arrays, rest = eqx.partition(problem, eqx.is_array)
    shapes = [(a.shape, a.dtype) for a in jax.tree.leaves(arrays)]
    return jax.tree.structure(arrays), shapes, rest


@pytest.mark.parametrize(
    "name", ["mars", "mars-explicit", "mapse", "follow", "jumpstart"]
)
def test_the_method_differs_from_others_in_numbers_only(page, name):
    ours, theirs = (program(page, m) for m in (page["eager_mars"], name))
    assert ours[:2] == theirs[:2]
    assert eqx.tree_equal(ours[2], theirs[2])
    assert ours[:2] != program(page, "mars-reward")[:2]


def test_the_trust_knows_its_places_and_trains_no_mixture(page):
    weights = page["West"]().weights
    assert weights(None, None, jnp.array([0.2]), jnp.array(0)).tolist() == [1, 0]
    assert weights(None, None, jnp.array([0.8]), jnp.array(0)).tolist() == [0, 1]
    assert build_setup(page["task"], page["by_place"], page["small"]).mixture is None
