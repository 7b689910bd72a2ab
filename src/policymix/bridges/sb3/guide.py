"""What networks need to know of advice."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from policymix.bridges.advisor import Advisor
from policymix.bridges.contest import Way
from policymix.core.boxes import in_unit
from policymix.core.errors import MissingExtraError
from policymix.core.types import Discrete

try:
    import torch
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

MarsForm = Literal["sure", "explicit", "lookahead"]
Leader: TypeAlias = Way | Literal["student"]
"""Who acts: the sources, they and the own values by the rule, or one without them."""


class Guide:
    """Who gives advice, and how much it counts."""

    def __init__(
        self,
        advisor: Advisor,
        form: MarsForm,
        precision: float | None,
        caution: float,
    ):
        self.advisor, self.form, self.scale = advisor, form, 0.0
        self.learns, self.precision = form == "lookahead", precision
        self.caution = caution
        self.leader: Leader | None = None
        """None: whoever is best by now."""

    def values(self, obs: torch.Tensor) -> torch.Tensor:
        """c·Φ(s, ·)."""
        phi = self.advisor.potential(obs.detach().cpu().numpy())
        return torch.as_tensor(self.scale * phi, device=obs.device)

    def value(self, obs: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        """c·Φ(s, a) for actions in [−1, 1]; gradients flow to the action."""
        phi: Any = ActionPotential.apply(action, obs, self)
        return self.scale * phi

    def advised(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The sources' actions, continuous ones in [−1, 1], and where there are any."""
        action, told = self.advisor.advised(obs.detach().cpu().numpy())
        space = self.advisor.spec.action
        if not isinstance(space, Discrete):
            action = in_unit(space, action)
        return (
            torch.as_tensor(action, device=obs.device),
            torch.as_tensor(told, device=obs.device),
        )

    @contextmanager
    def led_by(self, leader: Leader) -> Iterator[None]:
        """For a while."""
        before, self.leader = self.leader, leader
        try:
            yield
        finally:
            self.leader = before


class ActionPotential(torch.autograd.Function):
    """Φ(s, a) and its slope, which JAX knows, for torch."""

    @staticmethod
    def forward(
        ctx: Any, action: torch.Tensor, obs: torch.Tensor, guide: Guide
    ) -> torch.Tensor:
        """A column of Φ."""
        rows, actions = obs.cpu().numpy(), action.cpu().numpy()
        found = guide.advisor.action_potential(rows, actions, guide.precision)
        phi, slope = (torch.tensor(part).to(action) for part in found)
        ctx.save_for_backward(slope)
        return phi[:, None]

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[Any, ...]:
        """Only the action has a gradient."""
        (slope,) = ctx.saved_tensors
        return upstream[0] * slope, None, None
