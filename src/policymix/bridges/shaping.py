"""MARS as a reward, for learners that know nothing of it: Φ looks back.

A wrapper sees (s, a) but not the learner's next action, so γΦ(s', a') − Φ(s, a) cannot
be paid in time. Two rewards can:

* `lookback`: r + cΦ(s, a) − c₋Φ(s₋, a₋)/γ, look-back advice (Wiewiora 2003). What was
  paid before is taken back, so an episode's discounted return stays what it was, up to
  γᵀcΦ at a time-out; after a terminal state nothing remains.
* `bonus`: r + c·Φ(s, a), plain pay for following advice. It acts much more strongly,
  and it changes what is optimal while c > 0: let c fall to 0.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from policymix.bridges.advisor import Advisor
from policymix.core.boxes import in_unit
from policymix.core.errors import PolicymixError
from policymix.core.types import Discrete

Form = Literal["lookback", "bonus"]
Scale = float | Callable[[int], float]
"""c, or c after so many steps of the target."""
RESETS = 8
"""Observations from which sources are tried before anything is learned."""


class Shaper:
    """Pays for advice in several environments at once, and trains the mixture.

    Args:
        advisor: sources and mixture.
        scale: c.
        discount: γ of the learner.
        form: see the module.
        precision: of the kernel on continuous actions, per unit of [−1, 1].
        copies: environments side by side.
    """

    def __init__(
        self,
        advisor: Advisor,
        scale: Scale,
        discount: float,
        form: Form,
        precision: float | None,
        copies: int,
    ):
        if form not in ("lookback", "bonus"):
            raise PolicymixError(
                f"form={form!r} is unknown: a wrapper can pay 'lookback' or 'bonus'"
            )
        if not 0.0 < discount <= 1.0:
            raise PolicymixError(
                f"discount is {discount}: it must be the learner's, above 0, at most 1"
            )
        space = advisor.spec.action
        bounds = () if isinstance(space, Discrete) else space.low + space.high
        if not np.all(np.isfinite(bounds)):
            raise PolicymixError(
                f"the target's actions are {space}: without bounds nothing is near a "
                "source's action or far from it. Wrap the target in gymnasium.wrappers."
                "RescaleAction or the like"
            )
        self.advisor, self._scale, self._discount = advisor, scale, discount
        self._form, self._precision = form, precision
        self._before = np.zeros(copies)
        self._raw, self._shaped = np.zeros((2, copies))
        self._steps = 0

    @property
    def scale(self) -> float:
        """The present c."""
        scale = self._scale
        return float(scale(self._steps) if callable(scale) else scale)

    def reset(self) -> None:
        """Forget the episodes under way."""
        self._before[:] = self._raw[:] = self._shaped[:] = 0.0

    def shape(
        self,
        obs: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        next_obs: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
    ) -> tuple[np.ndarray, list[dict[str, Any]]]:
        """Rewards to hand on, and what to add to each copy's info."""
        ended = terminated | truncated
        phi = action_values(self.advisor, obs, actions, self._precision)
        pay = self.scale * phi.astype(float)
        shaped = rewards + pay
        if self._form == "lookback":
            # What was paid before is taken back, at a terminal state all of it.
            kept = np.where(terminated, 0.0, pay)
            shaped = rewards + kept - self._before / self._discount
        self.advisor.observe(obs, actions, next_obs)
        self.advisor.learn()
        self._steps += len(rewards)
        self._before = np.where(ended, 0.0, pay)
        self._raw += rewards
        self._shaped += shaped
        infos: list[dict[str, Any]] = [
            {"raw_reward": float(raw), "shaping": float(new - raw)}
            for raw, new in zip(rewards, shaped, strict=True)
        ]
        for place in np.flatnonzero(ended).tolist():
            infos[place]["transfer"] = {
                "transfer/raw_return": float(self._raw[place]),
                "transfer/shaped_return": float(self._shaped[place]),
                **self.advisor.figures(),
            }
        self._raw[ended] = self._shaped[ended] = 0.0
        return shaped, infos


def action_values(
    advisor: Advisor, obs: np.ndarray, actions: np.ndarray, precision: float | None
) -> np.ndarray:
    """Φ(s, a) of many pairs; a kernel on the action where it is continuous."""
    space = advisor.spec.action
    if isinstance(space, Discrete):
        phi = advisor.potential(obs)
        return phi[np.arange(len(phi)), np.asarray(actions, int).ravel()]
    scaled = in_unit(space, np.reshape(actions, (len(obs), -1)))
    return advisor.action_potential(obs, scaled, precision)[0]
