"""Every Python block of the README and the docs runs; the first tells the truth."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_example_tells_ice_from_rough_ground():
    names = {}
    exec(BLOCKS[0], names)
    trusted = names["belief"].weights_of(names["states"]).argmax(axis=1)
    assert [names["task"].sources.names[i] for i in trusted] == ["slippery", "rough"]


def test_the_second_example_learns_what_it_says():
    names = {}
    exec(BLOCKS[1], names)
    jnp, belief = names["jnp"], names["belief"]
    assert belief.weights(jnp.array([-0.5]))[0] > 0.9
    assert belief.weights(jnp.array([0.5]))[1] > 0.9
    np.testing.assert_allclose(belief.potential(jnp.array([0.5])), [0, 1], atol=0.1)


def test_training_by_advice_solves_the_task_in_two_thousand_steps():
    names = {}
    exec(BLOCKS[2], names)
    assert np.mean([r.score for r in names["trained"].rows if r.step == 2_000]) > 450


def test_other_blocks_run():
    for block in BLOCKS[3:]:
        exec(block, {})


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=str)
def test_blocks_of_the_docs_run(page, monkeypatch, tmp_path):
    """One after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(block, names)


@pytest.mark.parametrize("page", [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
def test_files_that_are_linked_exist(page):
    links = re.findall(r"\]\(((?!http)[^)#]+)\)", page.read_text())
    assert links or page.parent.name == "docs"
    assert [link for link in links if not (page.parent / link).exists()] == []
