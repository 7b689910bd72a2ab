"""Random finite MDPs and exact solutions, for tests."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from policymix.beliefs.potentials import bootstrap_action, decision_values, td_target


class FiniteMDP(NamedTuple):
    transitions: jax.Array  # states, actions, states
    reward: jax.Array  # states, actions
    advised: jax.Array  # states: the action a source recommends
    discount: jax.Array


def random_mdp(key, states=6, actions=3):
    transition_key, reward_key, advice_key = jax.random.split(key, 3)
    logits = 2 * jax.random.normal(transition_key, (states, actions, states))
    return FiniteMDP(
        jax.nn.softmax(logits),
        jax.random.normal(reward_key, (states, actions)),
        jax.random.randint(advice_key, (states,), 0, actions),
        jnp.array(0.9),
    )


def phi_of(mdp):
    """One deterministic source: Φ(s, ·) is one-hot."""
    return jax.nn.one_hot(mdp.advised, mdp.reward.shape[1])


def solve(mdp, form, scale, sweeps=200):
    """Expected Q-learning to its fixed point, by the library's own target."""
    phi = phi_of(mdp)
    never = jnp.array(False)

    def outcome(reward, phi_sa, next_values, next_phi):
        choice = bootstrap_action(form, next_values, next_phi, scale)
        return td_target(
            form,
            reward,
            phi_sa,
            next_values[choice],
            next_phi[choice],
            mdp.discount,
            never,
            scale,
        )

    over_next = jax.vmap(outcome, (None, None, 0, 0))
    over_actions = jax.vmap(over_next, (0, 0, None, None))
    over_states = jax.vmap(over_actions, (0, 0, None, None))

    def sweep(values, _):
        targets = over_states(mdp.reward, phi, values, phi)
        return jnp.sum(mdp.transitions * targets, axis=-1), None

    values, _ = jax.lax.scan(sweep, jnp.zeros_like(phi), length=sweeps)
    decide = jax.vmap(decision_values, (None, 0, 0, None))
    return values, decide(form, values, phi, scale)
