"""Belief turned into value: Φ of equation (8), and the three ways to use it.

Φ depends on the action, so the paper's reward alone makes the learned values Q − cΦ,
and acting greedily on them acts *against* the advice. A `Form` says where c·Φ enters:

* `REWARD`: the reward as printed, equation (7); act on the learned values.
* `LOOKAHEAD`: the same reward, but act and bootstrap on Q' + cΦ (Wiewiora 2003). For a
  fixed Φ the optimal policy stays the same.
* `EXPLICIT`: learn from the raw reward and act on Q + cΦ (Behboudian et al. 2020).
* `NONE`: no use at all.

A form is data, three numbers, so that methods which differ only in it share their code.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from policymix.core.kernels import AbstractKernel
from policymix.core.types import Real, Scalar, Transition


def potential(
    weights: Float[Array, " m"], advice: Float[Array, "n actions"]
) -> Float[Array, " actions"]:
    """Φ(s, ·) = Σᵢ aᵢ(s) P(· = πᵢ(s)), equation (8), for discrete actions.

    A weight beyond the n sources belongs to the target's own model, which gives no
    advice.
    """
    return weights[: advice.shape[0]] @ advice


def action_potential(
    weights: Float[Array, " m"],
    advice: Float[Array, "n act"],
    action: Float[Array, " act"],
    kernel: AbstractKernel,
) -> Scalar:
    """Φ(s, a) for continuous actions: P(a = πᵢ(s)) becomes a kernel on the action.

    Use an unnormalised kernel, so that following one source exactly is worth its weight
    and Φ lies between 0 and 1 as it does for discrete actions.
    """
    closeness = jnp.exp(jax.vmap(kernel, in_axes=(0, None))(advice, action))
    return weights[: advice.shape[0]] @ closeness


def shaping(
    phi: Scalar, next_phi: Scalar, discount: Real, terminated: Bool[Array, ""]
) -> Scalar:
    """F = γΦ(s', a') − Φ(s, a), equation (7).

    Φ is zero at a *terminal* state but not at a truncated one, or the optimal policy
    changes.
    """
    return discount * jnp.where(terminated, 0.0, next_phi) - phi


class Form(NamedTuple):
    """Where c·Φ enters, as factors 0 or 1."""

    reward: Real
    bootstrap: Real
    decision: Real


NONE = Form(reward=0.0, bootstrap=0.0, decision=0.0)
REWARD = Form(reward=1.0, bootstrap=0.0, decision=0.0)
LOOKAHEAD = Form(reward=1.0, bootstrap=1.0, decision=1.0)
EXPLICIT = Form(reward=0.0, bootstrap=0.0, decision=1.0)


def decision_values(
    form: Form,
    values: Float[Array, " actions"],
    phi: Float[Array, " actions"],
    scale: Real,
) -> Float[Array, " actions"]:
    """What to act and to test on."""
    return values + form.decision * scale * phi


def bootstrap_action(
    form: Form,
    next_values: Float[Array, " actions"],
    next_phi: Float[Array, " actions"],
    scale: Real,
) -> Int[Array, ""]:
    """a', the action in s' whose value is bootstrapped."""
    return jnp.argmax(next_values + form.bootstrap * scale * next_phi)


def td_target(
    form: Form,
    reward: Scalar,
    phi: Scalar,
    next_value: Scalar,
    next_phi: Scalar,
    discount: Real,
    terminated: Bool[Array, ""],
    scale: Real,
) -> Scalar:
    """Return r + c·F + γ Q(s', a'), without F in forms that use the raw reward.

    Args:
        form: where c·Φ enters.
        reward: r.
        phi: Φ(s, a).
        next_value: Q(s', a') for the bootstrap action a'.
        next_phi: Φ(s', a').
        discount: γ.
        terminated: whether s' is terminal.
        scale: c.
    """
    shaped = form.reward * scale * shaping(phi, next_phi, discount, terminated)
    return reward + shaped + discount * jnp.where(terminated, 0.0, next_value)


class Shaping(NamedTuple):
    """What potential-based shaping needs to know of one transition."""

    form: Form
    scale: Real
    phi: Scalar
    """Φ(s, a)."""
    next_phi: Float[Array, " actions"]
    """Φ(s', ·)."""


def shaped_target(
    shaping: Shaping,
    step: Transition,
    choosing: Float[Array, " actions"],
    bootstrapped: Float[Array, " actions"],
    discount: Real,
) -> Scalar:
    """The target of one transition; `choosing` decides which value is bootstrapped."""
    form, scale, phi, next_phi = shaping
    action = bootstrap_action(form, choosing, next_phi, scale)
    return td_target(
        form,
        reward=step.reward,
        phi=phi,
        next_value=bootstrapped[action],
        next_phi=next_phi[action],
        discount=discount,
        terminated=step.terminated,
        scale=scale,
    )
