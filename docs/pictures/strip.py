"""The strip of the concept pages: a push goes far on ice and not far on sand."""

from collections.abc import Callable

import numpy as np

import policymix as pm
from policymix.reports.palette import BLUE, GREY, ORANGE

COLOURS = {"ice": BLUE, "sand": ORANGE, "own model": GREY}


def push(size: float) -> Callable:
    """A simulator of a strip: action 0 pushes to the left, 1 to the right."""
    return lambda obs, action: obs + size * (2.0 * action - 1.0)


def strip_sources() -> pm.SourceLibrary:
    """On ice one goes left, on sand right, so that one sees who is listened to."""
    kernel = pm.Gaussian(50.0)
    return pm.SourceLibrary(
        [
            pm.SourceTask("ice", lambda obs: 0, push(0.5), kernel),
            pm.SourceTask("sand", lambda obs: 1, push(0.1), kernel),
        ],
        pm.TaskSpec(pm.Box((-1.0,), (1.0,)), pm.Discrete(2)),
    )


Steps = tuple[np.ndarray, np.ndarray, np.ndarray]


def strip_steps(far: Callable[[np.ndarray], np.ndarray]) -> Steps:
    """Two thousand steps of a strip on which a push goes `far(place)`."""
    rng = np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (2_000, 1)).astype(np.float32)
    action = np.arange(len(obs)) % 2
    moved = far(obs) * (2.0 * action[:, None] - 1.0) + rng.normal(0, 0.02, obs.shape)
    return obs, action, (obs + moved).astype(np.float32)
