"""The rule of MARS: act on one's own judgement where it is sure, else on advice.

Several networks judge the same two actions. Their mean says by how much the own action
is better than the advised one, their deviation how well they know it.
"""

from policymix.core.errors import MissingExtraError

try:
    import torch
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error


def surely_better(gaps: torch.Tensor, caution: float) -> torch.Tensor:
    """Where the mean of `gaps` [judges, rows] exceeds β of their deviations."""
    return gaps.mean(0) > caution * gaps.std(0)


def pick(values: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Of values [networks, rows, actions] those of one action a row."""
    places = actions.long().reshape(1, -1, 1).expand(len(values), -1, 1)
    return values.gather(2, places).squeeze(2)


def best_of(values: torch.Tensor) -> torch.Tensor:
    """The own action: the best by the mean of the first half of the networks."""
    return values[: len(values) // 2].mean(0).argmax(1)


def own_or_advised(
    values: torch.Tensor, advised: torch.Tensor, told: torch.Tensor, caution: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Actions, and whether each is the own one.

    Args:
        values: [networks, rows, actions]; the first half picks the own action, the
            second half judges it, so that none judges what it has picked.
        advised: the sources' action of each row.
        told: whether there is any advice in a row.
        caution: β.
    """
    own, judges = best_of(values), values[len(values) // 2 :]
    gaps = pick(judges, own) - pick(judges, advised)
    led = ~told | surely_better(gaps, caution)
    return torch.where(led, own, advised), led
