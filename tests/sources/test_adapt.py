"""Policies and dynamics as users have them answer as they would outside."""

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation

from policymix.beliefs.belief import gather_evidence
from policymix.core.encoders import OneHot
from policymix.core.errors import SourceError
from policymix.core.types import Box, Discrete, TaskSpec
from policymix.sources.dynamics import LogDensity
from policymix.sources.experts import SourceTask
from policymix.sources.host_calls import HostFunction
from policymix.sources.library import SourceLibrary
from policymix.sources.simulators import Simulator
from policymix.training.run import TrialError
from policymix.training.train import train

from support.own_probes import (
    BRIEF,
    Line,
    LineDomain,
    homeward_jax,
    stepping,
    stepping_jax,
    task,
)
from support.own_probes import unoptimised as unoptimised

pytestmark = pytest.mark.usefixtures("unoptimised")

PLANE = TaskSpec(Box((-1.0,) * 2, (1.0,) * 2), Discrete(3))
STATES = TaskSpec(Discrete(4), Discrete(2))
ROWS: Any = np.random.default_rng(0).uniform(-1, 1, (12, 2)).astype(np.float32)
ACTIONS: Any = np.arange(12) % 3


def adapted(policy=lambda obs: 1, dynamics=lambda obs, action: obs, spec=PLANE):
    encoder = OneHot(4) if spec is STATES else None
    source = SourceTask("mine", policy, dynamics)
    return SourceLibrary([source], encoder=encoder).for_target(spec).sources[0]


def runs_on_host(part):
    return isinstance(part, HostFunction)


def branching(obs):
    """An index by `if`, which JAX cannot trace."""
    return 2 if obs[0] > 0.3 else int(obs[1] > 0)


def sliding(obs, action):
    """NumPy, in place, as plain code has it."""
    obs += 0.1 * (float(action) - 1)
    return np.round(obs, 3)


class Model:
    """As Stable-Baselines3's models answer."""

    def predict(self, obs, deterministic=False):
        assert deterministic
        return np.array((obs[..., 0] > 0).astype(int) + (obs[..., 1] > 0)), None


class OneByOne:
    """Answers for many at once, but not what was asked."""

    def predict(self, obs, deterministic=False):
        return np.where(obs.flat[0] > 0, 2, np.zeros(len(obs), int))[0], None


class Misled:
    """Takes rows for components, as models for one observation may."""

    def predict(self, obs, deterministic=False):
        if obs.ndim == 1:
            return int(obs[0] > 0), None
        return np.zeros(len(obs), int), None


@pytest.mark.parametrize(
    "policy", [branching, Model(), OneByOne(), Misled()], ids=lambda p: type(p).__name__
)
def test_a_policy_on_the_host_equals_direct_calls(policy):
    found = adapted(policy).policy
    assert runs_on_host(found)
    ask: Any = policy if callable(policy) else lambda o: policy.predict(o, True)[0]
    expected = np.eye(3)[[int(ask(row)) for row in ROWS]]
    for call in (found, jax.jit(found)):
        np.testing.assert_array_equal(call(jnp.asarray(ROWS[0])), expected[0])
        np.testing.assert_array_equal(jax.vmap(call)(ROWS), expected)
        nested = jax.vmap(jax.vmap(call))(ROWS.reshape(4, 3, 2))
        np.testing.assert_array_equal(nested, expected.reshape(4, 3, 3))


def test_dynamics_on_the_host_equal_direct_calls():
    found = adapted(dynamics=sliding).dynamics
    assert runs_on_host(found)
    pairs = zip(ROWS.copy(), ACTIONS, strict=True)
    expected = np.array([sliding(*pair) for pair in pairs])
    kept = ROWS.copy()
    np.testing.assert_array_equal(jax.vmap(found)(ROWS, ACTIONS), expected)
    nested = jax.jit(jax.vmap(jax.vmap(found)))
    answers = nested(ROWS.reshape(4, 3, 2), ACTIONS.reshape(4, 3))
    np.testing.assert_array_equal(answers, expected.reshape(4, 3, 2))
    everything = jax.vmap(jax.vmap(found, (None, 0)), (0, None))(ROWS, ACTIONS[:3])
    expected = [[sliding(row.copy(), a) for a in ACTIONS[:3]] for row in ROWS]
    np.testing.assert_array_equal(everything, expected)
    np.testing.assert_array_equal(ROWS, kept)


def test_probabilities_and_continuous_actions_pass_through():
    def shares(obs):
        return [0.5, 0.5, 0.0] if obs[0] > 0 else [0.0, 0.25, 0.75]

    expected = np.array([shares(row) for row in ROWS])
    np.testing.assert_array_equal(jax.vmap(adapted(shares).policy)(ROWS), expected)
    spec = TaskSpec(PLANE.observation, Box((-1.0,), (1.0,)))
    push = adapted(lambda obs: [1.0 if obs[0] > 0 else -1.0], spec=spec).policy
    np.testing.assert_array_equal(jax.vmap(push)(ROWS), np.sign(ROWS[:, :1]))


def test_states_on_the_host_are_numbers():
    found = adapted(
        lambda s: 1 if s == 2 else 0, lambda s, a: {0: s, 1: 3 - s}[int(a)], STATES
    )
    states, actions = np.arange(4), np.array([0, 1, 0, 1])
    after = jax.vmap(found.dynamics)(states, actions)
    assert after.dtype == jnp.int32
    assert after.tolist() == [0, 2, 2, 0]
    assert jax.vmap(found.policy)(states).argmax(axis=1).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "policy",
    [
        lambda obs: (obs[0] > 0).astype(int),
        lambda obs: obs[0] > 0,
        lambda obs: jnp.where(obs[0] > 0, 1.0, 0.0),
        lambda obs: jnp.array([obs[0] <= 0, obs[0] > 0, False]).astype(float),
    ],
    ids=["index", "bool", "float", "one-hot"],
)
def test_what_jax_can_trace_is_compiled(policy):
    source = adapted(policy, stepping_jax)
    assert not runs_on_host(source.policy)
    assert not runs_on_host(source.dynamics)
    library = SourceLibrary([source], PLANE)
    expected = np.eye(3)[(ROWS[:, 0] > 0).astype(int)]
    np.testing.assert_array_equal(jax.vmap(library.advise)(ROWS)[:, 0], expected)


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_chance_is_not_frozen(share):
    rng = np.random.default_rng(0)

    def careless(obs):
        return rng.integers(3) if rng.random() < share else jnp.argmax(obs)

    found = jax.vmap(adapted(careless).policy)
    rows = np.tile(ROWS[:1], (300, 1))
    drawn = np.asarray(found(rows))
    assert runs_on_host(adapted(careless).policy)
    assert np.all(drawn.sum(axis=0)[1:] > 0)
    assert np.any(drawn != np.asarray(found(rows)))


def test_noise_in_dynamics_is_not_frozen():
    rng = np.random.default_rng(0)
    found = adapted(dynamics=lambda obs, action: obs + rng.normal()).dynamics
    gaps = np.asarray(jax.vmap(found)(ROWS, ACTIONS)) - ROWS
    assert np.std(gaps[:, 0]) > 0.3


def test_an_answer_in_a_used_array_is_copied():
    buffer = np.zeros(2)

    def write(obs, action):
        buffer[:] = obs + float(action)
        return buffer

    after = jax.vmap(adapted(dynamics=write).dynamics)(ROWS, ACTIONS)
    np.testing.assert_allclose(after, ROWS + ACTIONS[:, None], rtol=1e-6)


@dataclass
class Unhashable:
    """A dataclass compares by value and has no hash."""

    gain: np.ndarray

    def __call__(self, obs, action=None):
        if action is not None:
            return obs + self.gain
        return (obs @ self.gain > 0).astype(int)


def test_callable_objects_need_no_hash():
    thing = Unhashable(np.ones(2, np.float32))
    experts = SourceLibrary([SourceTask("mine", thing, thing)], PLANE).experts
    assert isinstance(hash(eqx.partition(experts, eqx.is_array)[1]), int)
    library = SourceLibrary([SourceTask("mine", branching, thing)], PLANE)
    advice = jax.vmap(library.advise)(ROWS)[:, 0]
    assert advice.argmax(axis=1).tolist() == [branching(row) for row in ROWS]


@pytest.mark.parametrize("function", [np.sum, jnp.sum], ids=["host", "compiled"])
def test_densities_may_be_plain_functions(function):
    def log_density(obs, action, next_obs):
        return -function((next_obs - obs) ** 2)

    def plain(obs, action, next_obs):
        return float(log_density(np.asarray(obs), action, np.asarray(next_obs)))

    given: Any = log_density if function is jnp.sum else plain
    source = adapted(dynamics=LogDensity(given))
    host = runs_on_host(source.dynamics.log_density)
    assert host == (function is np.sum)
    library = SourceLibrary([source], PLANE)
    found = jax.vmap(library.log_likelihoods)(ROWS, ACTIONS, -ROWS)[:, 0]
    np.testing.assert_allclose(found, -4 * (ROWS**2).sum(axis=1), rtol=1e-5)


def test_tables_are_policies_and_dynamics():
    actions, after = np.array([0, 1, 1, 0]), np.array([[0, 1], [2, 3], [-1, 0], [3, 3]])
    source = adapted(actions, after, STATES)
    states = jnp.arange(4)
    assert jax.vmap(source.policy)(states).argmax(axis=1).tolist() == actions.tolist()
    found = jax.vmap(jax.vmap(source.dynamics, (None, 0)), (0, None))(
        states, jnp.arange(2)
    )
    np.testing.assert_array_equal(found, after)
    shares = np.full((4, 2), 0.5)
    np.testing.assert_array_equal(
        jax.vmap(adapted(shares, after, STATES).policy)(states), shares
    )


class Answer:
    """Always predicts the same."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, obs, deterministic=False):
        del obs, deterministic
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer, None


def fail(*arguments):
    raise RuntimeError("out of order")


def silent(*arguments):
    raise AssertionError


class Broken(eqx.Module):
    def __call__(self, *arguments):
        raise AssertionError


def no_number(*arguments: Any) -> Any:
    return np.float32(np.nan) if arguments[0][0] > 2 else np.nan


def on_host(answer):
    """A function that gives this, and that JAX cannot trace."""
    return lambda obs, *action: (answer, answer)[int(obs[0] > 2)]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (on_host(3), r"returns action 3, .* actions 0 … 2. Map"),
        (on_host(-1), r"returns action -1"),
        (on_host(0.5), r"returns action 0.5"),
        (lambda obs: jnp.array(3), r"returns action 3"),
        (Answer(np.array(3)), r"returns action 3"),
        (on_host([0.5, 0.4, 0.0]), r"no probabilities.*sum to 1.*softmax"),
        (Answer(np.array([0.5, 0.4, 0.0])), r"no probabilities"),
        (on_host([np.nan, 0.5, 0.5]), r"policy returns NaN"),
        (on_host([1.0, 0.0]), r"shape \(2,\), but the target needs \(3,\). Select"),
        (Answer(np.zeros(5)), r"shape \(5,\), but the target needs \(3,\)"),
        (fail, r"policy fails.*RuntimeError: out of order.*shape \[\(2,\)\]"),
        (silent, r"policy fails.*AssertionError"),
        (Broken(), r"policy fails.*AssertionError"),
        (Answer(ValueError("bad")), r"predict fails.*ValueError: bad"),
        (lambda obs: int(obs[5] > 0), r"policy fails.*IndexError"),
        (np.zeros(3, int), r"table, but .*vectors. Give a function"),
        ("left", r"policy is a str. Give a function.*predict.*table"),
    ],
)
def test_an_unfit_policy_is_found_before_training(policy, words):
    with pytest.raises(SourceError, match=rf"^source 'mine': .*{words}"):
        adapted(policy)


@pytest.mark.parametrize(
    ("dynamics", "words"),
    [
        (on_host([0.0, np.nan]), r"dynamics returns NaN or infinity at.*mend"),
        (on_host([np.inf, 0.0]), r"dynamics returns NaN or infinity"),
        (on_host([0.0]), r"dynamics returns shape \(1,\).*\(2,\). Select"),
        (on_host(0.0), r"dynamics returns shape \(\)"),
        (fail, r"dynamics fails.*out of order.*\[\(2,\), \(\)\]"),
        (Broken(), r"dynamics fails.*AssertionError"),
        (lambda obs: obs, r"dynamics fails.*TypeError"),
        (LogDensity(no_number), r"log-density is NaN"),
        (LogDensity(fail), r"log-density fails.*out of order"),
        (LogDensity(lambda o, a, n: o), r"log-density returns shape \(2,\)"),
        (np.zeros((3, 2), int), r"table, but .*vectors"),
        (None, r"dynamics are a NoneType. Give.*fit_dynamics"),
    ],
)
def test_unfit_dynamics_are_found_before_training(dynamics, words):
    with pytest.raises(SourceError, match=rf"^source 'mine': .*{words}"):
        adapted(dynamics=dynamics)


@pytest.mark.parametrize(
    ("policy", "dynamics", "words"),
    [
        (np.array([0, 1, 2, 0]), np.zeros((4, 2), int), r"returns action 2, .*0 … 1"),
        (np.zeros(5, int), np.zeros((4, 2), int), r"table of shape \(5,\).* 4 states"),
        (np.zeros((4, 2)), np.zeros((4, 2), int), r"no probabilities"),
        (np.zeros(4, int), np.zeros((4, 2)), r"float64. Give the next.*4 states × 2"),
        (np.zeros(4, int), np.full((4, 2), 4), r"no state 0 … 3"),
        (np.zeros(4, int), lambda s, a: 9 if s > 2 else 0, r"no state 0 … 3"),
    ],
)
def test_unfit_tables_are_found_before_training(policy, dynamics, words):
    with pytest.raises(SourceError, match=rf"^source 'mine': .*{words}"):
        adapted(policy, dynamics, STATES)


CART = TaskSpec(Box((-np.inf,) * 4, (np.inf,) * 4), Discrete(2))


class Paged(Line):
    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Dict(a=self.observation_space)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (lambda: gymnasium.make("MountainCar-v0"), r"its simulator has .*Wrap it"),
        (lambda: Simulator(gymnasium.make("MountainCar-v0")), r"simulator has .*Wrap"),
        (Paged, r"its observation_space is a Dict space.*FlattenObservation"),
    ],
)
def test_a_simulator_has_the_spaces_of_the_target(env, words):
    with pytest.raises(SourceError, match=rf"^source 'mine': .*{words}"):
        adapted(dynamics=env(), spec=CART)


def test_lakes_of_other_sizes_do_not_fit():
    lake = gymnasium.make("FrozenLake-v1", map_name="8x8", is_slippery=False)
    simulator = Simulator(lake, lambda env, obs: setattr(env.unwrapped, "s", int(obs)))
    with pytest.raises(SourceError, match=r"Discrete\(n=64\).*Wrap"):
        adapted(dynamics=simulator, spec=TaskSpec(Discrete(16), Discrete(4)))


def test_an_environment_is_its_own_model():
    source = adapted(lambda obs: 0, gymnasium.make("CartPole-v1"), CART)
    target = gymnasium.make("CartPole-v1")
    obs, _ = target.reset(seed=5)
    for action in (0, 1, 1, 0):
        predicted = source.dynamics(jnp.asarray(obs), jnp.array(action))
        obs = target.step(action)[0]
        np.testing.assert_allclose(predicted, obs, rtol=1e-5, atol=1e-6)


def test_a_simulator_that_does_not_repeat_itself_is_named():
    cart = gymnasium.make("CartPole-v1")
    doubled = TransformObservation(cart, lambda obs: 2 * obs, cart.observation_space)
    with pytest.raises(SourceError, match=r"^source 'mine': .*CartPole.*set_state"):
        adapted(lambda obs: 0, doubled, CART)


def run(given, trials=1, **changes):
    """Trials of the smallest method that asks policies and dynamics alike."""
    told = {"settings": replace(BRIEF, **changes), "cores": 2, "progress": False}
    return train(given, "mars-explicit", trials=trials, **told)


@pytest.fixture(scope="module")
def lesson():
    """What three trials learn from sources that are compiled."""
    given = task(homeward_jax, stepping_jax, horizon=20)
    assert not runs_on_host(given.sources.sources[0].policy)
    return run(given, 3)


def same(found, expected):
    """What every trial scores and learns; each does so whatever runs beside it."""
    for trial, agent in enumerate(found.agents):
        mine, theirs = (
            [row for row in result.rows if row.trial == trial]
            for result in (found, expected)
        )
        assert mine == theirs
        for one, other in zip(
            *map(jax.tree.leaves, (agent.trial, expected.agents[trial].trial)),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.learning
def test_plain_functions_teach_what_compiled_ones_do(lesson):
    """The host steps the target; callbacks come from two threads at a time."""
    same(run(task(horizon=20), 3), lesson)


@pytest.mark.learning
def test_plain_functions_teach_in_compiled_code_too():
    compiled = task(homeward_jax, stepping_jax, LineDomain())
    same(run(task(target=LineDomain()), 2), run(compiled, 2))


class Thinker:
    """A model that itself is a compiled function."""

    def __init__(self):
        self._choose = jax.jit(jax.vmap(homeward_jax))

    def predict(self, obs, deterministic=False):
        del deterministic
        rows = np.atleast_2d(obs)
        return np.asarray(self._choose(rows)).reshape(obs.shape[:-1]), None


@pytest.mark.learning
def test_host_functions_may_use_jax_themselves(lesson):
    given = task(Thinker(), stepping, horizon=20)
    assert runs_on_host(given.sources.sources[0].policy)
    same(run(given, 2), lesson)


def illegal_far_out(obs):
    return 2 if abs(obs[0]) > 3 else 1


def illegal_far_out_jax(obs):
    return jnp.where(jnp.abs(obs[0]) > 3, 2, 1)


def shy(obs):
    if abs(obs[0]) > 3:
        raise KeyError("never seen")
    return 1


FAR = jnp.array([3.5, 1.0])


@pytest.mark.parametrize("policy", [illegal_far_out, illegal_far_out_jax])
def test_advice_that_is_no_action_is_no_number(policy):
    library = task(policy).sources
    np.testing.assert_array_equal(library.advise(jnp.array([0.5, 1.0])), [[0.0, 1.0]])
    assert np.all(np.isnan(library.advise(FAR)))


def test_a_prediction_that_is_no_number_stays_none():
    def dynamics(obs, action):
        return [np.nan if obs[0] > 3 else obs[0], 1.0]

    library = task(dynamics=dynamics).sources
    assert np.isnan(library.log_likelihoods(FAR, jnp.array(0), FAR))


def test_a_fault_that_shows_later_stops_the_trial():
    with pytest.raises(TrialError, match=r"the advice of source 'only' is no act"):
        run(task(illegal_far_out, stepping_jax, horizon=20), epsilon_start=0.0)


def test_an_exception_that_shows_later_names_the_source():
    with pytest.raises(
        TrialError, match=r": source .only.: its policy fails.*never seen"
    ):
        run(task(shy, stepping_jax, horizon=20), epsilon_start=0.0)


class Guide:
    """A model as Stable-Baselines3 has them, that compares by its content."""

    __hash__: Any = None

    def __eq__(self, other):
        return isinstance(other, Guide)

    def predict(self, obs, deterministic):
        return (np.asarray(obs)[..., 0] > 0).astype(int), None


def closeness(obs, action, next_obs) -> Any:
    return -float(abs(next_obs[0] - obs[0]))


def compilations(call):
    """How many programs are compiled meanwhile."""
    count = []

    def listen(event: str, duration_secs: float, **more: str | int) -> None:
        del duration_secs
        if event == "/jax/core/compile/backend_compile_duration":
            count.append(more.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    call()
    jax.monitoring.unregister_event_duration_listener(listen)
    return count


@pytest.mark.parametrize(
    ("policy", "dynamics"),
    [
        pytest.param(homeward_jax, stepping_jax, id="compiled"),
        pytest.param(branching, stepping, id="on the host"),
        pytest.param(Guide(), LogDensity(closeness), id="a model"),
        pytest.param(branching, gymnasium.make("MountainCar-v0"), id="a simulator"),
    ],
)
def test_twenty_libraries_of_the_same_functions_compile_once(policy, dynamics):
    spec = TaskSpec(Box((-0.5, -0.05), (0.5, 0.05)), Discrete(3))
    rows = np.random.default_rng(0).uniform(-0.05, 0.05, (5, 2)).astype(np.float32)

    def ask():
        library = SourceLibrary([SourceTask("mine", policy, dynamics)])
        ready = library.for_target(spec, jnp.asarray(rows))
        return gather_evidence(ready, (rows, np.arange(5) % 3, rows))

    first, again = compilations(ask), compilations(lambda: [ask() for _ in range(20)])
    assert len(first) > 0
    assert again == []
