"""The lander's shipped sources meet their bars, and the mixture knows when to land."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policymix.beliefs.belief import learn_belief
from policymix.domains.lander.sources import (
    Forlorn,
    hover_facts,
    journey_states,
    until_goal,
)
from policymix.environments.episodes import Episode, play
from policymix.sources.policies import policy_of
from policymix.training.task import explore, load_task

pytestmark = pytest.mark.learning

FRESH = 9_000_000


@pytest.fixture(scope="module")
def task():
    return load_task("lander")


@pytest.fixture(scope="module")
def policies(task):
    return {source.name: policy_of(source.policy) for source in task.sources.sources}


def at_home(task, policies, name):
    return play(task.domain.family().variant(name), policies[name], 100, FRESH)


def test_hover_survives_and_stays_in_its_box(task, policies):
    facts = hover_facts(at_home(task, policies, "hover"))
    assert facts["survived"] >= 0.95
    assert facts["inside"] >= 0.80


def test_land_comes_to_rest(task, policies):
    episodes = at_home(task, policies, "land")
    assert np.mean([e.info["outcome"] == "rest" for e in episodes]) >= 0.90


def test_low_mass_lands_its_light_craft(task, policies):
    episodes = at_home(task, policies, "low-mass")
    assert np.mean([e.total for e in episodes]) >= 200


def test_a_hand_written_switch_beats_every_source(task, policies):
    """Hover high, land low: ≥ 230 on the target, which no source alone reaches."""
    target = task.domain.family().target

    def switch(obs):
        hover, land = policies["hover"](obs), policies["land"](obs)
        return np.where(obs[:, 1] > 0.5, hover, land)

    def score(policy):
        return np.mean([e.total for e in play(target, policy, 100, FRESH)])

    assert score(switch) >= 230
    assert max(score(policy) for policy in policies.values()) < 230


@pytest.fixture(scope="module")
def belief(task):
    """Learned offline from 9,000 transitions, led by the sources in turn."""
    data = explore(task, 9_000, seed=1_000, epsilon=0.1)
    return learn_belief(task.sources, data, seed=1_000, batch=64)


def test_following_the_mixture_lands(task, belief):
    episodes = play(task.domain.family().target, belief.follow, 50, FRESH)
    assert np.mean([e.total for e in episodes]) >= 200


def test_the_mixture_chooses_hover_high_and_land_low(task, belief):
    """Along the episodes that follow it."""
    episodes = play(task.domain.family().target, belief.follow, 10, FRESH)
    obs = np.concatenate([episode.obs for episode in episodes])
    weights = belief.weights_of(obs)
    height = obs[:, 1]
    hover, land = (task.sources.names.index(name) for name in ("hover", "land"))
    assert np.mean(weights[height > 0.8, hover]) > 0.7
    assert np.mean(weights[height < 0.2, land]) > 0.6


def episode_of(obs, outcome="rest"):
    obs = np.asarray(obs, np.float32)
    steps = len(obs) - 1
    return Episode(obs, np.zeros(steps), np.zeros(steps), True, {"outcome": outcome})


HIGH, BOX, GROUND = (np.eye(8)[1] * y for y in (1.2, 0.4, 0.0))


def test_a_journey_ends_at_its_goal():
    arrived = episode_of([HIGH, HIGH, BOX, HIGH, BOX])
    assert len(until_goal("hover", arrived)) == 2  # pyright: ignore[reportArgumentType]
    assert until_goal("hover", episode_of([HIGH, HIGH])) is None
    landed = episode_of([BOX, GROUND, GROUND])
    assert len(until_goal("land", landed)) == 2  # pyright: ignore[reportArgumentType]
    assert until_goal("land", episode_of([BOX, GROUND], "failure")) is None


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_hover_is_judged_from_its_arrival_on(inside):
    episode = episode_of(
        [HIGH, *(BOX if flag else HIGH for flag in inside)], "time-out"
    )
    facts = hover_facts([episode])
    assert facts["arrived"] == float(any(inside))
    if any(inside):
        later = inside[inside.index(True) :]
        assert facts["inside"] == pytest.approx(sum(later) / len(later))


def test_journeys_are_states_of_the_source(task, policies):
    make = task.domain.family().variant("land")
    states, steps = journey_states("land", make, policies["land"], seed=1)
    assert states.shape == (2_000, 8)
    assert steps > 2_000
    assert np.abs(states).max() <= 1
    assert np.median(states[:, 1]) < 0.4, "land begins at 0.4 and goes down"


class Lost(gymnasium.Env):
    """Climbs for ever."""

    action_space = gymnasium.spaces.Discrete(4)
    observation_space = gymnasium.spaces.Box(-9, 9, (8,))

    def reset(self, *, seed=None, options=None):
        self.height = 1.0
        return np.eye(8)[1] * self.height, {}

    def step(self, action):
        self.height += 0.6
        return np.eye(8)[1] * self.height, 1.0, False, False, {}


def test_training_gives_up_on_a_lost_craft():
    env = Forlorn(Lost())
    env.reset()
    assert env.step(0)[1:4] == (1.0, False, False)
    assert env.step(0)[1:4] == (-100.0, True, False)
