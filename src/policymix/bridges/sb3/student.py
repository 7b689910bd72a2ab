"""A network that learns to act as the rule does, so that it can do without sources."""

from typing import Any

from policymix.core.errors import MissingExtraError

try:
    import torch
    from torch.nn import functional
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


def imitate(student: Any, obs: Any, actions: torch.Tensor) -> float:
    """One step towards the actions: numbers of them, or vectors in [−1, 1]; the loss.

    Args:
        student: one of SB3's networks, its answers logits or actions; it has an
            optimiser.
        obs: rows of observations.
        actions: what the rule does there.
    """
    answers = student(obs)
    if actions.ndim == 1:
        loss = functional.cross_entropy(answers, actions.long())
    else:
        loss = functional.mse_loss(answers, actions)
    student.optimizer.zero_grad()
    loss.backward()
    student.optimizer.step()
    return loss.item()
