"""What each method does with advice: followed, overcome, ignored, and compiled once."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.dirichlet import DirichletMixture
from policymix.core.errors import PolicymixError
from policymix.methods.behaviours import Reuse
from policymix.methods.method import Method
from policymix.methods.recipes import METHODS, always, find_recipe
from policymix.methods.trust import ByMixture
from policymix.training.compiled import _chunk
from policymix.training.greedy import greedy
from policymix.training.run import TrainingRun
from policymix.training.setup import build_setup
from policymix.training.step import choose
from policymix.training.train import train
from policymix.training.trial import begin

from support.probes import (
    HELPFUL,
    LONG,
    MISLEADING,
    MIXED,
    QUICK,
    WRONG,
    best_return,
    calm,
    source,
    task_of,
)

NAMES = [name for name in (*METHODS, "phi1", "phi2") if name != "multipolar"]
"""All that learn a table."""
BEST = best_return(LONG)
STUCK = LONG.horizon * float(LONG.cost)
"""What walking left for ever returns."""


def scores(task, method, step=QUICK.steps, **changes):
    """Both trials' scores at that step, the last."""
    settings = replace(QUICK, **changes)
    result = train(
        task, method, steps=step, settings=settings, trials=2, progress=False
    )
    return [row.score for row in result.rows if row.step == step]


ELSEWHERE = {"mars-reward", "mars-printed", "vote"}
"""They act against advice, or know none that is right."""


@pytest.mark.learning
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ELSEWHERE])
def test_with_a_good_source_the_optimum_is_reached(name):
    np.testing.assert_allclose(scores(MIXED, name), BEST, rtol=1e-5)


@pytest.mark.learning
def test_the_reward_as_printed_walks_away_from_good_advice_unless_it_is_small():
    np.testing.assert_allclose(scores(HELPFUL, "mars-reward"), STUCK, rtol=1e-5)
    np.testing.assert_allclose(
        scores(HELPFUL, "mars-reward", scale=0.01), BEST, rtol=1e-5
    )


@pytest.mark.learning
def test_good_advice_is_followed_at_once():
    np.testing.assert_allclose(scores(HELPFUL, "mars", 100), BEST, rtol=1e-5)
    assert min(scores(HELPFUL, "scratch", 100)) < BEST - 0.1


@pytest.mark.learning
@pytest.mark.parametrize("name", ["scratch", "mars"])
def test_bad_advice_is_overcome(name):
    np.testing.assert_allclose(scores(MISLEADING, name, scale=5.0), BEST, rtol=1e-5)


@pytest.mark.learning
@pytest.mark.parametrize("name", ["mars-explicit", "follow"])
def test_bad_advice_is_never_overcome_with_a_large_fixed_scale(name):
    np.testing.assert_allclose(scores(MISLEADING, name, scale=5.0), STUCK, rtol=1e-5)


def trials_of(problem, count=64):
    """Trials in any state and with any values, at the start of an episode."""

    def one(key):
        begin_key, obs_key, value_key = jax.random.split(key, 3)
        obs = jax.random.randint(obs_key, (), 0, LONG.length)
        trial = begin(problem, begin_key, obs)
        return trial._replace(agent=jax.random.normal(value_key, trial.agent.shape))

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(5), count))


def noises(count=64, arms=2):
    """Any noise."""
    uniforms = jax.random.uniform(jax.random.key(6), (6, count))
    return calm(arms)._replace(
        explore=uniforms[0],
        anything=uniforms[1],
        reuse=uniforms[2],
        follow=uniforms[3],
        leave=uniforms[4],
        guide=uniforms[5],
        arms=jnp.full((count, arms), 0.5),
    )


def actions(problem, trials=None, noise=None):
    """What is chosen in each trial."""
    trials = trials_of(problem) if trials is None else trials
    noise = noises() if noise is None else noise
    act = jax.jit(jax.vmap(lambda trial, noise: choose(problem, trial, noise)[0]))
    return np.asarray(act(trials, noise))


def programs():
    """How many times the loop has been compiled."""
    return _chunk._cache_size()  # pyright: ignore[reportAttributeAccessIssue]


def mapse_with(reuse):
    return lambda given: Method(ByMixture(), reuse=Reuse(reuse), leader=always())


def test_mapse_that_reuses_nothing_acts_as_scratch():
    alone = actions(build_setup(MIXED, "scratch", QUICK))
    never = actions(build_setup(MIXED, mapse_with(0.0), QUICK))
    always = actions(build_setup(MIXED, mapse_with(1.0), QUICK))
    np.testing.assert_array_equal(never, alone)
    assert np.any(always != alone)


def test_mapse_that_always_reuses_draws_its_action_from_the_mixture():
    """The good source goes right, the bad one left: a(s) are the shares of actions."""
    problem = build_setup(MIXED, mapse_with(1.0), replace(QUICK, epsilon_floor=1.0))
    trial = jax.tree.map(lambda x: x[0], trials_of(problem, 1))
    uniforms = (jnp.arange(1000) + 0.5) / 1000

    @jax.jit
    @jax.vmap
    def act(follow):
        noise = calm(2)._replace(explore=jnp.zeros(()), follow=follow)
        return choose(problem, trial, noise._replace(reuse=jnp.array(0.99)))[0]

    assert problem.mixture is not None
    good, bad = problem.mixture.weights(trial.mixture, trial.obs)
    assert abs(float(good - bad)) > 0.01
    assert float(jnp.mean(act(uniforms) == 1)) == pytest.approx(float(good), abs=1e-3)


def test_mapse_reuses_less_with_each_episode():
    reuse = build_setup(MIXED, "mapse", replace(QUICK, mapse_reuse=0.5)).method.reuse
    memory = always().init()
    likely = [float(reuse(memory._replace(episode=jnp.array(e)))) for e in range(3)]
    assert likely == [1.0, 0.5, 0.25]


def test_a_jumpstart_leads_whole_episodes_of_the_target_at_first():
    settings = replace(QUICK, jumpstart_shrink=0.5)
    reuse = build_setup(MIXED, "jumpstart", settings).method.reuse
    state = always().init()

    def led(episode):
        behaviour = state._replace(episode=jnp.array(episode))
        steps = range(2 * LONG.horizon)
        return sum(
            float(reuse(behaviour._replace(elapsed=jnp.array(t)))) for t in steps
        )

    assert [led(0), led(1)] == [LONG.horizon, LONG.horizon / 2]


def test_one_source_alone_is_explicit_mars_with_a_mixture_of_one():
    task = task_of(LONG, [source("only", WRONG, LONG)])
    phi, mars = (build_setup(task, name, QUICK) for name in ("phi1", "mars-explicit"))
    chosen = actions(phi)
    np.testing.assert_array_equal(chosen, actions(mars))
    assert set(chosen.tolist()) == {0, 1}


def test_follow_ignores_values():
    problem = build_setup(HELPFUL, "follow", QUICK)
    calms = jax.tree.map(lambda x: jnp.broadcast_to(x, (64, *x.shape)), calm(2))
    trials = trials_of(problem)
    against = trials._replace(agent=jnp.zeros_like(trials.agent).at[:, :, 0].set(1e3))
    for some in (trials, against):
        np.testing.assert_array_equal(actions(problem, some, calms), 1)


def test_oracle_trusts_the_right_source_alone():
    """Φ = 1 on its action is more than the values' lead, 0.9, of the other."""
    problem = build_setup(MIXED, "oracle", QUICK)
    trials = trials_of(problem)
    left = jnp.zeros_like(trials.agent).at[:, :, 0].set(0.9)
    tested = jax.jit(jax.vmap(lambda trial: greedy(problem, trial, trial.obs)))
    np.testing.assert_array_equal(tested(trials._replace(agent=left)), 1)
    np.testing.assert_array_equal(tested(trials._replace(agent=left * 2)), 0)


def test_oracle_without_a_right_source_says_what_to_do():
    with pytest.raises(PolicymixError, match="Choose another method"):
        build_setup(HELPFUL, "oracle", QUICK)


def curve_of(setup, settings=QUICK, steps=300):
    """Mean scores of two trials of a setup."""
    settings = replace(settings, steps=steps)
    run = TrainingRun(
        task=MIXED, name="mine", setup=setup, settings=settings, seeds=np.arange(2)
    )
    return [pause.score for pause in run.pauses()]


@pytest.mark.learning
@pytest.mark.parametrize(
    "changes",
    [
        {"mixture": "dirichlet"},
        {"mixture": "dirichlet", "own_model": True},
        {"mixture_prior": "gaussian"},
        {"mixture_prior": "laplace", "prior_strength": 1e-4},
    ],
    ids=str,
)
def test_every_mixture_finds_the_good_source(changes):
    settings = replace(QUICK, **changes)
    setup = build_setup(MIXED, "mars-explicit", settings)
    assert curve_of(setup, settings)[-1] == pytest.approx(BEST, rel=1e-5)


@pytest.mark.learning
def test_a_mixture_of_ones_own_is_trained_as_it_is_or_made_from_the_sources():
    mixture = DirichletMixture(LONG.length, 2, concentration=0.5)
    name = "mars-explicit"
    made = build_setup(MIXED, name, QUICK, lambda library, settings: mixture)
    given = build_setup(MIXED, name, QUICK, mixture)
    assert made.mixture is mixture
    curve = curve_of(given)
    settings = replace(QUICK, mixture="dirichlet", concentration=0.5)
    assert curve == curve_of(build_setup(MIXED, name, settings))
    assert curve[-1] == pytest.approx(BEST, rel=1e-5)
    assert build_setup(MIXED, "scratch", QUICK, mixture).mixture is None


def test_a_mixture_of_another_number_of_sources_is_refused():
    with pytest.raises(
        PolicymixError, match=r"weighs 3 components, .*2 sources \(good, bad\)"
    ):
        build_setup(MIXED, "mars", QUICK, DirichletMixture(LONG.length, 3))


def test_a_mixture_that_learns_once_is_not_updated_after_episodes():
    settings = replace(QUICK, updates="episode")
    with pytest.raises(PolicymixError, match=r"DirichletMixture learns .*just once"):
        build_setup(MIXED, "mars", settings, DirichletMixture(LONG.length, 2))


def test_a_misspelt_method_is_guessed():
    with pytest.raises(PolicymixError, match="Did you mean 'mars-explicit'"):
        find_recipe("mars_explicit", 2)
    with pytest.raises(PolicymixError, match="there is no method 'phi3'"):
        find_recipe("phi3", 2)


@pytest.mark.learning
@pytest.mark.parametrize(
    "alike",
    [
        ("mars-explicit", "mapse", "follow", "jumpstart"),
        ("mars-reward", "mars-lookahead"),
        ("phi1", "phi2"),
    ],
)
def test_methods_that_differ_in_numbers_alone_share_a_compilation(alike):
    first, *others = alike
    scores(MIXED, first, 100)
    before = programs()
    for name in others:
        scores(MISLEADING, name, 100, scale=3.0)
    assert programs() == before
