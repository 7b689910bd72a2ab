"""Transfer-SparseLunarLander as a Gymnasium environment; Box2D draws its picture."""

import gymnasium
from gymnasium.error import DependencyNotInstalled

from policymix.core.errors import MissingExtraError
from policymix.domains.lander.task import FAMILY


def make_lander(
    source: str | None = None, render_mode: str | None = None
) -> gymnasium.Env:
    """Build the sparse target (None), or a source: "hover", "land", "low-mass".

    The horizon is enforced inside, so no time limit need be wrapped around it.
    `info["raw_return"]` is the undeferred return so far and, at the end of an
    episode, `info["outcome"]` is "rest", "failure" or "time-out".
    """
    params = FAMILY.variant(source)
    try:
        from policymix.domains.lander.physics import Lander
    except DependencyNotInstalled as error:
        raise MissingExtraError(FAMILY.name, "box2d") from error
    return Lander(params, render_mode)
