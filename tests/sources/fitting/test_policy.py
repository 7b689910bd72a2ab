"""A policy from data repeats what was done there, and says how well."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import policymix as pm

QUICK = pm.ModelSettings(max_steps=2_000, batch=64)


def log_of(choose, samples=2_000, scale=(1.0, 1.0), seed=0):
    rng = np.random.default_rng(seed)
    obs = (rng.normal(size=(samples, 2)) * scale).astype(np.float32)
    action = np.array([choose(row, rng) for row in obs])
    return obs, action, obs


def fit(data, **options):
    return pm.fit_policy(data, layers=(32,), settings=QUICK, progress=False, **options)


def test_an_operator_who_errs_now_and_then_is_repeated_without_the_errors():
    def operator(row, rng):
        return int(rng.integers(2)) if rng.random() < 0.2 else int(row[0] > row[1])

    fitted = fit(log_of(operator))
    rows = np.random.default_rng(9).normal(size=(500, 2)).astype(np.float32)
    chosen = np.argmax(jax.vmap(fitted.policy)(jnp.asarray(rows)), axis=1)
    assert np.mean(chosen == (rows[:, 0] > rows[:, 1])) > 0.95
    # Of the unseen actions a tenth are errors, which no policy could repeat.
    assert 0.8 < fitted.agreement < 0.97


def test_units_do_not_matter():
    def operator(row, rng):
        return int(1e3 * row[0] > 1e-4 * row[1])

    assert fit(log_of(operator, scale=(1e-3, 1e4))).agreement > 0.9


def test_random_actions_cannot_be_repeated():
    fitted = fit(log_of(lambda row, rng: int(rng.integers(4))))
    assert 0.15 < fitted.agreement < 0.35


def test_continuous_actions_are_repeated_within_their_bounds():
    def operator(row, rng):
        return np.clip([2.0 * row[0], -300.0 * row[1]], [-1, -200], [1, 200])

    fitted = fit(log_of(operator))
    assert fitted.agreement > 0.97
    action = fitted.policy(jnp.array([50.0, 50.0]))
    np.testing.assert_allclose(action, [1.0, -200.0], rtol=1e-6)


def test_states_get_their_most_frequent_action_and_unseen_ones_none():
    obs = np.repeat(np.arange(4), 50)
    action = np.where(np.arange(200) % 10 == 0, 2, obs % 2)
    fitted = fit((obs, action, obs), num_states=5)
    expected = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1 / 3] * 3]
    np.testing.assert_allclose(fitted.policy.probabilities, expected, rtol=1e-6)
    assert fitted.steps == 0


def test_it_can_be_saved_with_its_library(tmp_path):
    data = log_of(lambda row, rng: int(row[0] > 0), samples=200)
    policy, model = fit(data).policy, pm.fit_dynamics(data, settings=QUICK).model
    spec = pm.TaskSpec(pm.Box((-1.0,) * 2, (1.0,) * 2), pm.Discrete(2))
    library = pm.SourceLibrary([pm.SourceTask("a", policy, model)], spec)
    library.save(tmp_path / "library")
    again = pm.SourceLibrary.load(tmp_path / "library")
    obs = jnp.array([0.3, -0.2])
    np.testing.assert_array_equal(again.advise(obs), library.advise(obs))


def test_what_cannot_be_repeated_is_said():
    with pytest.raises(pm.errors.SourceError, match="how to act"):
        pm.fit_policy("CartPole-v1")
    states = np.arange(100) % 5
    vectors = np.zeros((100, 2), np.float32)
    with pytest.raises(pm.errors.SourceError, match="actions are vectors"):
        pm.fit_policy((states, vectors, states))
    obs = np.zeros((100, 2), np.float32)
    with pytest.raises(pm.errors.SourceError, match="layers are"):
        pm.fit_policy((obs, states, obs), layers=(), progress=False)
