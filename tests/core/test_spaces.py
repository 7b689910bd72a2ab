"""Spaces that fit become ours; of the others the complaint says what to do."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from policymix.core.errors import DomainError
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Box, Discrete, TaskSpec

VECTOR = spaces.Box(-1.0, 1.0, (2,))
FLATTEN = r"gymnasium\.wrappers\.FlattenObservation"
NUMBER = r"gymnasium\.ActionWrapper"


def world(observation: spaces.Space = VECTOR, action=None):
    return SimpleNamespace(
        observation_space=observation, action_space=action or spaces.Discrete(3)
    )


def test_vectors_and_numbers_keep_their_bounds():
    expected = TaskSpec(Box((-1.0, -1.0), (1.0, 1.0)), Discrete(3))
    assert spec_of_spaces(world(), "it") == expected
    cells = TaskSpec(Discrete(5), Box((0.0,), (2.0,)))
    assert spec_of_spaces(world(spaces.Discrete(5), spaces.Box(0, 2, (1,))), "it") == (
        cells
    )


def test_the_largest_float_is_infinity():
    most = np.array([4.8, np.finfo(np.float32).max, 1e29, np.inf], np.float32)
    box = spec_of_spaces(world(spaces.Box(-most, most)), "it").observation
    assert isinstance(box, Box)
    np.testing.assert_allclose(box.high, [4.8, np.inf, 1e29, np.inf], rtol=1e-6)
    np.testing.assert_array_equal(box.low, -np.array(box.high))
    cartpole = spec_of_spaces(gymnasium.make("CartPole-v1"), "it").observation
    assert isinstance(cartpole, Box)
    assert np.isinf(cartpole.high).tolist() == [False, True, False, True]


UNFIT = {
    "Dict": spaces.Dict(a=VECTOR),
    "Tuple": spaces.Tuple([VECTOR]),
    "MultiDiscrete": spaces.MultiDiscrete([2, 3]),
    "MultiBinary": spaces.MultiBinary(4),
    "Text": spaces.Text(3),
    "Sequence": spaces.Sequence(VECTOR),
}


@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize(
    ("part", "remedy"), [("observation", FLATTEN), ("action", NUMBER)]
)
def test_other_spaces_are_named_with_a_remedy(name, part, remedy):
    if (name, part) == ("Sequence", "observation"):
        remedy = r"always has the same length"
    words = (
        rf"^mine: its {part}_space is a {name} space, not Box or Discrete.*{remedy}.*"
        r"Other spaces. in docs/own\.md"
    )
    with pytest.raises(DomainError, match=words):
        spec_of_spaces(world(**{part: UNFIT[name]}), "mine")


@pytest.mark.parametrize("shape", [(2, 3), (), (0,)])
@pytest.mark.parametrize(
    ("part", "remedy"), [("observation", FLATTEN), ("action", NUMBER)]
)
def test_a_box_has_one_axis(shape, part, remedy):
    with pytest.raises(DomainError, match=rf"mine: .*one axis is needed.*{remedy}"):
        spec_of_spaces(world(**{part: spaces.Box(0, 1, shape)}), "mine")


@pytest.mark.parametrize(
    ("space", "count"),
    [(spaces.MultiDiscrete([2, 3, 4]), 24), (spaces.MultiBinary(5), 32)],
)
def test_combinations_are_counted(space, count):
    with pytest.raises(DomainError, match=f"numbers its {count} combinations"):
        spec_of_spaces(world(action=space), "mine")


@pytest.mark.parametrize(
    ("space", "complaint"),
    [
        (spaces.Box(0, 5, (2,), np.int32), r"whole numbers\. Wrap .* \(Discrete\)"),
        (
            spaces.Box(np.array([0, 1], np.float32), np.ones(2, np.float32)),
            "component 1 has a single",
        ),
    ],
)
def test_a_vector_of_actions_has_real_components_to_choose(space, complaint):
    with pytest.raises(DomainError, match=f"it: its action_space is Box.*{complaint}"):
        spec_of_spaces(world(action=space), "it")


def test_images_are_said_to_be_large():
    screen = spaces.Box(0, 255, (96, 96, 3), np.uint8)
    with pytest.raises(DomainError, match=r"27,648 numbers.*no convolutions.*encoder"):
        spec_of_spaces(world(screen), "mine")


@pytest.mark.parametrize("part", ["observation", "action"])
def test_numbers_start_at_zero(part):
    with pytest.raises(DomainError, match=rf"mine: its {part}.*not start at 0.*Wrap"):
        spec_of_spaces(world(**{part: spaces.Discrete(3, start=1)}), "mine")


@pytest.mark.parametrize("part", ["observation", "action"])
def test_what_has_no_spaces_is_no_environment(part):
    thing = world()
    delattr(thing, f"{part}_space")
    with pytest.raises(DomainError, match=rf"mine has no {part}_space: Simple.*Give"):
        spec_of_spaces(thing, "mine")
