"""Lander sources: a double DQN each, a model of the flight, and what it covers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np

from policymix.core.encoders import Clip, Identity
from policymix.core.kernels import Gaussian
from policymix.core.networks import MLP
from policymix.core.progress import Begin
from policymix.core.types import Discrete
from policymix.domains.lander.task import in_hover_box
from policymix.environments.copies import HostTasks, Policy
from policymix.environments.episodes import Episode, disturbed, play
from policymix.sources.dynamics import BoundedDynamics, CoveredDynamics, NetworkDynamics
from policymix.sources.experts import SourceTask
from policymix.sources.fitting.data import SHARE, Transitions, split
from policymix.sources.fitting.fit import ModelSettings, fit_network
from policymix.sources.policies import GreedyPolicy
from policymix.training.source_policy import (
    Judge,
    Judgement,
    PolicySettings,
    train_policy,
)

POLICIES = {
    "hover": PolicySettings(samples=400_000, hidden=(120, 100)),
    "land": PolicySettings(samples=800_000, hidden=(120, 100)),
    "low-mass": PolicySettings(samples=300_000, hidden=(120, 100)),
}
FIT = ModelSettings(max_steps=30_000, patience=None, batch=128)
KERNEL = Gaussian(5e5)
SEEN = 2_000
JOURNEYS = 100
NOISE = 0.05
LOW = (-1.0,) * 6 + (0.0,) * 2
HIGH = (1.0,) * 8


class Forlorn(gymnasium.Wrapper):
    """Gives up on a craft that has climbed out of sight or turned over.

    Only for training: a lost craft would fill the replay with nothing to learn from.
    """

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """End the episode as a crash would."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        if obs[1] > 2.0 or abs(obs[4]) > np.pi:
            return obs, -100.0, True, False, info
        return obs, reward, terminated, truncated, info


def train_source(
    name: str, make: Callable[[], gymnasium.Env], seed: int, begin: Begin
) -> tuple[SourceTask, int]:
    """One source, and the samples it took."""
    settings = POLICIES[name]
    tasks = HostTasks(lambda: Forlorn(make()), settings.copies)
    advance = begin(f"{name}: policy", settings.samples, "merit")
    trained = train_policy(tasks, settings, JUDGES[name](make), seed, advance)
    columns = trained.history.obs, trained.history.action, trained.history.next_obs
    fit = fit_network(
        assemble,
        (12, 100, 100, 8),
        split(Transitions(*map(jnp.asarray, columns)), SHARE, seed)[0],
        Clip(),
        FIT,
        seed,
        begin(f"{name}: dynamics", FIT.max_steps, "loss"),
    )
    policy = GreedyPolicy(trained.network, Identity())
    seen, steps = journey_states(name, make, trained.host, seed)
    dynamics = CoveredDynamics(fit.model, Clip(), jnp.asarray(seen))
    return SourceTask(name, policy, dynamics, KERNEL), settings.samples + steps


def assemble(network: MLP) -> BoundedDynamics:
    """The paper's outputs: within [−1, 1] for motion, [0, 1] for the legs' contacts."""
    low, high = jnp.array(LOW), jnp.array(HIGH)
    return BoundedDynamics(NetworkDynamics(network, Clip()), low, high)


def journey_states(
    name: str, make: Callable[[], gymnasium.Env], policy: Policy, seed: int
) -> tuple[np.ndarray, int]:
    """States of journeys that reached their goal, up to the goal, and samples spent.

    What hover does after it has arrived is no part of its journey: the craft is where
    the sub-goal is, and what comes next is another source's business.
    """
    shaken = disturbed(policy, NOISE, Discrete(4), seed)
    episodes = play(make, shaken, JOURNEYS, 3_500_000 + 1_000 * seed)
    journeys = [j for e in episodes if (j := until_goal(name, e)) is not None]
    states = np.clip(np.concatenate(journeys), -1.0, 1.0)
    chosen = np.random.default_rng(seed).permutation(len(states))[:SEEN]
    return states[chosen].astype(np.float32), sum(e.length for e in episodes)


def until_goal(name: str, episode: Episode) -> np.ndarray | None:
    """Observations before the goal is reached; None when it never is."""
    if name != "hover":
        return episode.obs[:-1] if episode.info["outcome"] == "rest" else None
    inside = [in_hover_box(obs) for obs in episode.obs.tolist()]
    return episode.obs[: inside.index(True)] if any(inside) else None


def judge_hover(make: Callable[[], gymnasium.Env]) -> Judge:
    """The mean return: a policy that dawdles on its way loses by it."""

    def judge(policy: Policy, episodes: int, seed: int) -> Judgement:
        played = play(make, policy, episodes, seed)
        total = float(np.mean([e.total for e in played]))
        return Judgement(total, {"return": total, **hover_facts(played)})

    return judge


def hover_facts(played: list[Episode]) -> dict[str, float]:
    """Shares: of episodes survived, of episodes that arrived, of later steps inside."""
    inside = [np.array([in_hover_box(o) for o in e.obs[1:].tolist()]) for e in played]
    after = [flags[np.argmax(flags) :] for flags in inside if flags.any()]
    return {
        "survived": float(np.mean([e.info["outcome"] != "failure" for e in played])),
        "arrived": float(np.mean([flags.any() for flags in inside])),
        "inside": float(np.mean(np.concatenate(after))) if after else 0.0,
    }


def judge_landings(make: Callable[[], gymnasium.Env], weight: float) -> Judge:
    """The mean return, and the share of safe landings times a weight."""

    def judge(policy: Policy, episodes: int, seed: int) -> Judgement:
        played = play(make, policy, episodes, seed)
        rest = float(np.mean([e.info["outcome"] == "rest" for e in played]))
        total = float(np.mean([e.total for e in played]))
        return Judgement(total + weight * rest, {"rest": rest, "return": total})

    return judge


JUDGES = {
    "hover": judge_hover,
    "land": partial(judge_landings, weight=400.0),
    "low-mass": partial(judge_landings, weight=0.0),
}
