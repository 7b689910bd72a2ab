"""The mixture of the sources' policies as a prior for a policy of one's own."""

from typing import NamedTuple

import numpy as np

from policymix.bridges.advisor import Advisor
from policymix.core.errors import MissingExtraError
from policymix.core.types import Box, Discrete

try:
    import torch
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

SMOOTHING = 0.1
"""Share of the discrete prior that all actions have alike."""
SPREAD = 0.3
"""Deviation of the continuous prior, in halves of the range of an action."""


class Prior(NamedTuple):
    """What the mixture would do in some states."""

    centre: torch.Tensor
    """Logits of discrete actions, or means of continuous ones."""
    log_std: torch.Tensor
    """Of continuous actions, beside the policy's own."""
    share: torch.Tensor
    """What the sources have of the mixture; the rest is the own model's. Where that
    leads, nobody names a continuous action and there is nothing to hold on to: 0."""


def prior_of(advisor: Advisor, obs: torch.Tensor) -> Prior:
    """Ask sources and mixture; where nobody is trusted, nothing is preferred."""
    weights, advice = advisor.recalled(obs.detach().cpu().numpy())
    share, space = weights[:, : advice.shape[1]].sum(1), advisor.spec.action
    if isinstance(space, Discrete):
        centre, log_std = _logits(space, weights, advice), np.zeros(1)
    else:
        led = np.argmax(weights, axis=1) < advice.shape[1]
        centre, log_std = _leading_action(space, weights, advice, led)
        share = led * share
    parts = (centre, log_std, share)
    return Prior(*(torch.as_tensor(x, device=obs.device).float() for x in parts))


def _logits(space: Discrete, weights: np.ndarray, advice: np.ndarray) -> np.ndarray:
    """The logarithm of Σᵢ aᵢ πᵢ; what the own model has is left to all actions."""
    trusted = weights[:, : advice.shape[1]]
    known = (1.0 - SMOOTHING) * np.einsum("ri,ria->ra", trusted, advice)
    return np.log(known + (1.0 - known.sum(1, keepdims=True)) / space.n)


def _leading_action(
    space: Box, weights: np.ndarray, advice: np.ndarray, led: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The most trusted source's, and how closely; nothing where none leads."""
    low, high = (np.array(bound, np.float32) for bound in (space.low, space.high))
    source = np.where(led, np.argmax(weights, axis=1), 0)
    chosen = np.clip(advice[np.arange(len(source)), source], low, high)
    close = np.log(SPREAD * (high - low) / 2.0)
    told = led[:, None]
    return np.where(told, chosen, 0.0), np.where(told, close, 0.0)


def proof(ratio: np.ndarray, advantages: np.ndarray, share: np.ndarray) -> float:
    """By how many standard errors a policy is better than the mixture.

    The mean of (m/π)·A over the policy's own actions is the advantage of acting once as
    the mixture does. The policy has none over itself, so the mean of (1 − m/π)·A is
    what it gains by not doing so. The unit of reward cancels.

    Args:
        ratio: m/π of every action that was taken.
        advantages: of these actions.
        share: of the sources in the states; elsewhere there is nothing to prove.
    """
    gains = share * (1.0 - ratio) * (advantages - advantages.mean())
    error = gains.std() / np.sqrt(len(gains))
    return float(gains.mean() / error) if error > 0.0 else 0.0
