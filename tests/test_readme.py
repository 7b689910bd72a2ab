"""Every Python block of the README runs, and the first one tells the truth."""

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).parents[1] / "README.md").read_text()
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


def test_other_blocks_run():
    for block in BLOCKS[2:]:
        exec(block, {})


def test_files_that_are_linked_exist():
    root = Path(__file__).parents[1]
    links = re.findall(r"\]\(((?!http)[^)#]+)\)", README)
    assert links
    assert [link for link in links if not (root / link).exists()] == []
