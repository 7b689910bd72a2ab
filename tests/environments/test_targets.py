"""A target of one's own: named, copied, cut off, and tried before it is learned."""

import threading
from dataclasses import replace
from functools import partial

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

from policymix.core.encoders import Identity, OneHot, OneHotGrid, Standardise
from policymix.core.errors import DomainError
from policymix.core.kernels import Indicator
from policymix.environments.registry import find_domain
from policymix.environments.targets import (
    EPISODES,
    STEPS,
    first_observations,
    horizon_of,
    own_variant,
)
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import TransferTask, load_task, prepare
from policymix.training.train import train

from support.known import PAPER
from support.own_probes import (
    BRIEF,
    Line,
    LineDomain,
    homeward_jax,
    stepping_jax,
    task,
)
from support.own_probes import unoptimised as unoptimised
from support.probes import LONG, QUICK, Corridor, best_return

pytestmark = pytest.mark.usefixtures("unoptimised")


def make_line():
    return Line()


def maze():
    return Line()


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("CartPole-v1", "CartPole-v1"),
        (gymnasium.make("CartPole-v1"), "CartPole-v1"),
        (Line(), "Line"),
        (Line, "Line"),
        (make_line, "make_line"),
        (lambda: Line(), "target"),
        (lambda: gymnasium.make("CartPole-v1"), "CartPole-v1"),
        (LONG, "Corridor"),
    ],
)
def test_a_target_has_a_readable_name(target, name):
    assert own_variant(target, 10)[1] == name


def made(target, horizon=10):
    make, _ = own_variant(target, horizon)
    assert callable(make)
    return make()


def test_what_has_no_specification_is_copied():
    mine = Line(step=0.5)
    one, other = made(mine), made(mine)
    assert one.unwrapped is not mine
    assert one.unwrapped is not other.unwrapped
    assert one.unwrapped.step_size == 0.5


def test_what_has_a_specification_is_made_anew():
    mine = gymnasium.make("CartPole-v1", max_episode_steps=7, sutton_barto_reward=True)
    mine.reset(seed=0)
    copy = made(mine)
    assert copy.unwrapped is not mine.unwrapped
    assert copy.unwrapped._sutton_barto_reward
    assert copy.spec.max_episode_steps == 7


class Own(gymnasium.RewardWrapper):
    """A wrapper that no specification can hold."""

    def __init__(self, env, factor):
        super().__init__(env)
        self.factor = factor

    def reward(self, reward):
        return self.factor * reward  # pyright: ignore[reportOperatorIssue]


def test_a_wrapper_of_ones_own_is_copied_with_the_rest():
    copy = made(Own(gymnasium.make("CartPole-v1"), 3.0))
    copy.reset(seed=0)
    assert copy.step(0)[1] == 3.0


def test_a_change_that_would_be_lost_is_noticed():
    mine = gymnasium.make("CartPole-v1")
    mine.unwrapped.gravity = 3.7  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(
        DomainError, match=r"CartPole.*changed.*\(gravity\).*a function"
    ):
        made(mine)

    def on_mars():
        cartpole = gymnasium.make("CartPole-v1")
        cartpole.unwrapped.gravity = 3.7  # pyright: ignore[reportAttributeAccessIssue]
        return cartpole

    assert made(on_mars).unwrapped.gravity == 3.7


class Locked(Line):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def broken():
    raise RuntimeError("no licence")


class Duck:
    """Spaces, but no environment."""

    observation_space, action_space = spaces.Box(-1, 1, (2,)), spaces.Discrete(2)


class Picture(Line):
    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)


SHARED = Line()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("Nonsense-v1", r"'Nonsense-v1' cannot be made.*registered one"),
        (broken, r"'broken' cannot be made \(RuntimeError: no licence\).*Give"),
        (Locked(), r"Locked.* cannot be copied \(TypeError.*Give a function"),
        (lambda: SHARED, r"target makes the same environment every time.*a new one"),
        (Duck, r"Duck is a Duck, no gymnasium.Env. Derive"),
        (dict, r"dict has no observation_space.*Give an environment"),
        (42, r"the target is a int. Give a Gymnasium environment, its id"),
        (Picture, r"Picture: its observation_space has the shape.*FlattenObservation"),
    ],
)
def test_an_unfit_target_is_named_with_a_remedy(target, words):
    with pytest.raises(DomainError, match=words):
        task(target=target)


def steps_of(environment, most=50):
    environment.reset(seed=0)
    for step in range(1, most + 1):
        if environment.step(0)[3]:
            return step
    return None


def test_what_never_ends_is_cut_off_at_the_horizon():
    assert steps_of(made(Line, 7)) == 7
    assert steps_of(made(TimeLimit(Line(), 5), 7)) == 5
    assert steps_of(made(lambda: TimeLimit(Line(), 9), 7)) == 9


def test_the_horizon_is_the_targets_own_or_its_time_limit_or_the_default():
    assert horizon_of(LONG, 7) == LONG.horizon
    assert horizon_of(lambda: TimeLimit(Own(TimeLimit(Line(), 9), 1.0), 5), 7) == 5
    assert horizon_of(lambda: Own(TimeLimit(Line(), 9), 1.0), 7) == 9
    assert horizon_of(partial(gymnasium.make, "CartPole-v1"), 7) == 500
    assert horizon_of(Line, 7) == 7


def test_an_environment_without_its_wrappers_is_cut_off_too():
    def bare():
        return gymnasium.make("MountainCar-v0", max_episode_steps=30).unwrapped

    assert steps_of(made(bare, 7)) == 7
    assert steps_of(made(bare(), 7)) == 7


def test_sources_are_tried_on_observations_after_a_few_steps():
    rows = first_observations(Line)
    assert rows.shape == (EPISODES * STEPS, 2)
    assert rows.dtype == np.float32
    assert len(np.unique(rows[:STEPS, 0])) > 1
    places = first_observations(LONG)
    assert places.shape == (EPISODES * STEPS,)
    assert set(places.tolist()) > {0, 1}
    np.testing.assert_array_equal(first_observations(Line), rows)


class Buffered(Line):
    buffer = np.zeros(2, np.float32)

    def observe(self):
        self.buffer[:] = super().observe()
        return self.buffer


class Lost(Line):
    def observe(self):
        return np.array([np.nan, 1.0], np.float32)


def test_an_environment_may_reuse_its_array():
    np.testing.assert_array_equal(
        first_observations(Buffered), first_observations(Line)
    )


def test_observations_that_are_no_numbers_are_noticed():
    with pytest.raises(DomainError, match=r"NaN or infinity soon after.*check_env"):
        task(target=Lost)


def test_an_own_target_guards_against_useless_sources():
    assert prepare(task()).domain.settings.own_model
    assert prepare(task(target=maze)).domain.settings.own_model
    assert prepare(task(target=maze)).domain.settings.layers == (64, 64)
    assert load_task("maze").domain.settings == PAPER["maze"]


def test_observations_are_scaled_unless_an_encoder_is_given():
    assert isinstance(task().sources.encoder, Standardise)
    library = SourceLibrary(
        [SourceTask("only", homeward_jax, stepping_jax)], encoder=Identity()
    )
    assert prepare(TransferTask(Line, library)).sources.encoder == Identity()


def cart_still(obs, action):
    return [*obs]


def cart_upright(obs):
    return 1 if obs[2] + 0.5 * obs[3] > 0 else 0


def test_a_domain_by_name_has_its_own_encoder_and_settings():
    named = task(cart_upright, cart_still, "cartpole")
    assert named.domain is find_domain("cartpole")
    assert named.sources.encoder == Identity()
    assert named.domain.settings == PAPER["cartpole"]
    cells = np.zeros(841, int)
    maze = task(cells, np.zeros((841, 4), int), "maze", Indicator())
    assert maze.sources.encoder == OneHotGrid(29, 29)


@pytest.mark.learning
def test_training_on_an_environment_by_its_id(capfd):
    cart = task(cart_upright, gymnasium.make("CartPole-v1"), "CartPole-v1")
    result = train(cart, settings=BRIEF, progress=True)
    assert {row.domain for row in result.rows} == {"CartPole-v1"}
    assert [row.step for row in result.rows] == [0, 100, 200]
    told = "".join(capfd.readouterr())
    assert "CartPole-v1 mars" in told
    assert result.rows[0].score > 100, "the source balances the pole"


SAFE = np.array([1, 2, 1, 0, 1, 0, 1, 0, 2, 1, 1, 0, 0, 2, 2, 0])
"""A way over the frozen lake: 0 left, 1 down, 2 right, 3 up."""


def lake_table():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    outcomes = lake.unwrapped.P  # pyright: ignore[reportAttributeAccessIssue]
    return np.array([[outcomes[s][a][0][1] for a in range(4)] for s in range(16)])


@pytest.mark.parametrize("layers", [None, (8,)])
def test_tables_teach_an_environment_with_numbered_states(layers):
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    given = task(SAFE, lake_table(), lake)
    assert given.sources.encoder == OneHot(16)
    settings = replace(BRIEF, layers=layers, own_model=True, epsilon_start=0.1)
    result = train(given, "mars-explicit", settings=settings, progress=False)
    assert result.rows[-1].score == 1.0
    weights = result.agents[0].belief.weights_of(np.arange(16))
    assert weights.shape == (16, 2)
    assert np.all(weights[[0, 4, 8], 0] > 0.5), "the source is exact"


def test_a_domain_written_in_jax_is_learned_in_compiled_code():
    table = np.minimum(np.arange(8)[:, None] + np.array([-1, 1]), 7)
    sources = [SourceTask("good", np.ones(8, int), np.maximum(table, 0), Indicator())]
    given = prepare(TransferTask(LONG, SourceLibrary(sources)))
    result = train(given, steps=200, settings=QUICK, progress=False)
    assert {row.domain for row in result.rows} == {"Corridor"}
    assert result.rows[-1].score == pytest.approx(best_return(LONG))


def test_targets_of_one_kind_need_not_be_alike():
    """The name is the class's; what is learned is the instance."""
    short = own_variant(Corridor(length=3), 10)[0]
    assert isinstance(short, Corridor)
    assert short.length == 3
    assert jnp.all(first_observations(short) < 3)


def test_a_continuous_line_is_scaled_in_compiled_code_too():
    given = task(homeward_jax, stepping_jax, LineDomain())
    assert isinstance(given.sources.encoder, Standardise)
    assert given.domain.name == "LineDomain"
