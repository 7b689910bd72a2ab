"""Data that cannot be learned from: each complaint names a remedy."""

import numpy as np
import pytest
from gymnasium import spaces

from policymix.core.errors import DomainError, SourceError

from support.turning import (
    Count,
    fit,
    recorded,
    turning,
)

ROWS, FEW = np.random.default_rng(0).normal(size=(50, 2)), np.zeros(50, int)


def broken(value):
    rows = ROWS.copy()
    rows[17, 1] = value
    return rows


class Strange(Count):
    def __init__(self, **named):
        super().__init__()
        for name, space in named.items():
            setattr(self, f"{name}_space", space)


PLAIN = spaces.Box(-1.0, 1.0, (2,))
COMPLAINTS = {
    "lengths": ((ROWS, FEW[:49], ROWS), "50 of obs, 49 of action, 50 of next_obs"),
    "empty": (([], [], []), "there are 0 transitions.*at least 20"),
    "few": ((ROWS[:19], FEW[:19], ROWS[:19]), "there are 19 transitions"),
    "nan": ((broken(np.nan), FEW, ROWS), "^obs holds NaN or infinity in row 17"),
    "infinity": ((ROWS, FEW, broken(np.inf)), "next_obs holds NaN .* row 17"),
    "overflow": ((ROWS, broken(1e300), ROWS), "action holds NaN .* row 17"),
    "images": ((np.zeros((50, 4, 4)),) * 3, r"obs has the shape \(50, 4, 4\)"),
    "scalars": ((ROWS[:, 0], FEW, ROWS[:, 0]), r"obs is one float a row.*\[samples, 1"),
    "number": ((1.0, FEW, ROWS), "obs is a single number"),
    "widths": ((ROWS, FEW, ROWS[:, :1]), r"\(50, 2\) but next_obs \(50, 1\)"),
    "ragged": (([[1.0], [1.0, 2.0]] * 25, FEW, ROWS), "rows of obs differ in shape"),
    "words": ((["a"] * 50, FEW, ROWS), "obs holds <U1 values, not numbers"),
    "dicts": (([{"a": 1}] * 50, FEW, ROWS), "object values.*FlattenObservation"),
    "columns": ((ROWS, FEW[:, None], ROWS), "integers in rows of 1"),
    "negative": ((ROWS, FEW - 1, ROWS), "actions from -1 to -1, but they must be 0"),
    "mixed": ((FEW, ROWS, FEW), "indices but the actions are vectors"),
    "keys": ({"obs": ROWS, "next_obs": ROWS}, "no action among their keys"),
    "pair": ((ROWS, ROWS), "from a tuple of 2. Give transitions .*Minari.*Gymnasium"),
    "nothing": (None, "from a NoneType. Give transitions"),
    "function": (lambda: 3, "makes a int, not a Gymnasium environment. Give"),
    "id": ("CartPool-v1", "cannot make 'CartPool-v1' .*CartPole.*Check the id"),
    "module": ("nowhere:Env-v0", "cannot make 'nowhere:Env-v0' "),
    "no episodes": (recorded(), "no episodes"),
    "episode": (recorded((ROWS, FEW)), "episode 0 has 50 observations and 50 actions"),
    "dict episode": (
        recorded((ROWS, FEW[1:]), ({"goal": ROWS}, FEW)),
        "episode 1 holds a dict.*FlattenObservation",
    ),
}


@pytest.mark.parametrize(("data", "message"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_complaints_name_the_thing_and_the_remedy(data, message):
    with pytest.raises(SourceError, match=message):
        fit(data)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"observation": spaces.Dict(a=PLAIN)}, "a Dict space.*FlattenObservation"),
        ({"action": spaces.MultiDiscrete([2, 2])}, "a MultiDiscrete space.*Wrap"),
    ],
)
def test_spaces_that_no_model_reads(named, message):
    (part,) = named
    environment = Strange(**named)
    with pytest.raises(DomainError, match=f"its {part}_space is {message}"):
        fit(lambda: environment)
    assert (environment.closed, environment.taken) == (True, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_actions": 2}, "actions from 0 to 2, but .* 0 … 1. .*num_actions"),
        ({"policy": lambda obs: 0}, "a policy acts in an environment.* Sampled of 3"),
        ({"layers": ()}, r"layers are \(\)"),
    ],
)
def test_options_that_do_not_fit_the_data(options, message):
    with pytest.raises(SourceError, match=message):
        fit(turning(), **options)


@pytest.mark.parametrize("advice", [2, 0.5, np.zeros(3), (np.array(1), None), "left"])
def test_a_policy_must_return_an_action(advice):
    with pytest.raises(SourceError, match=r"no action of Discrete\(2\)"):
        fit(Count(), policy=lambda obs: advice, samples=50)
