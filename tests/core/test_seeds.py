"""Seeds of 64 bits: each its own key, others refused."""

import jax
import numpy as np
import pytest

from policymix.core.errors import PolicymixError
from policymix.core.seeds import LIMIT, check_seed, key_of, seeds_from, words_of


def bits(key):
    return jax.random.key_data(key).tolist()


@pytest.mark.parametrize("seed", [0, 1, 29, 2**31 - 1, 2**31, 2**32 - 1])
def test_below_32_bits_keys_are_those_of_jax(seed):
    assert bits(key_of(seed)) == bits(jax.random.key(np.uint32(seed)))


def test_no_two_seeds_share_a_key():
    seeds = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**63, LIMIT - 1]
    assert len({tuple(bits(key_of(seed))) for seed in seeds}) == len(seeds)


def test_words_put_together_are_the_seed():
    seeds = seeds_from(LIMIT - 3, 3)
    upper, lower = words_of(seeds).T.tolist()
    joined = [high << 32 | low for high, low in zip(upper, lower, strict=True)]
    assert joined == seeds.tolist() == [LIMIT - 3, LIMIT - 2, LIMIT - 1]


@pytest.mark.parametrize(
    ("seed", "count", "complaint"),
    [
        (-1, 1, "seed is -1: it must be at least 0"),
        (LIMIT, 1, "less than 2\\*\\*64"),
        (LIMIT - 3, 4, "and 4 from it on"),
        ("7", 1, "seed is '7': it must be a whole number"),
        (1.0, 1, "seed is 1.0: it must be a whole number"),
        (None, 1, "seed is None"),
        (True, 1, "seed is True"),
    ],
)
def test_what_is_no_seed_is_refused_in_a_sentence(seed, count, complaint):
    with pytest.raises(PolicymixError, match=complaint):
        check_seed(seed, count)


def test_numbers_of_numpy_are_seeds():
    assert check_seed(np.int64(5)) == 5
    assert type(check_seed(np.uint32(5))) is int
