"""The learned policy alone, without sources and without JAX."""

from typing import Any

import numpy as np

from policymix.agents.base import AbstractPupil
from policymix.agents.caps import CAPS
from policymix.agents.dqn import DQN
from policymix.agents.heads import NetworkHeads, TableHeads
from policymix.agents.judged import Judged
from policymix.agents.multipolar import Multipolar
from policymix.agents.q_learning import QLearning
from policymix.agents.sac import SAC, SACState
from policymix.core.encoders import AbstractEncoder, Identity, OneHot, Standardise
from policymix.core.errors import PolicymixError
from policymix.core.networks import MLP
from policymix.storage.policy_file import NumPyPolicy

Plain = tuple[str, dict[str, np.ndarray]]
"""The encoder's name and all arrays, as `NumPyPolicy` takes them."""


def numpy_policy(agent: AbstractPupil, state: Any, **facts: Any) -> NumPyPolicy:
    """What an agent does without its sources, as a function of NumPy arrays.

    Args:
        agent: who has learned …
        state: … this.
        **facts: to be kept with it.
    """
    encoder, arrays = _plain(agent, state)
    return NumPyPolicy({**facts, "encoder": encoder}, arrays)


def _plain(agent: Any, state: Any) -> Plain:
    """By the very kind of an agent: a subclass may act in another way."""
    kind = type(agent)
    if kind is Judged:
        return _plain_head(agent.student, state.student)
    if kind is QLearning:
        return "Table", {"table": np.asarray(state)}
    if kind is DQN:
        return _plain_network(agent.encoder, state.online.parameters)
    if kind is Multipolar:
        return _plain_network(agent.learner.encoder, state.online.parameters)
    if kind is CAPS:
        encoder, arrays = _plain(agent.learner, state.values)
        return encoder, _outputs(arrays, slice(-agent.num_actions, None))
    if kind is SAC:
        return _plain_actor(agent, state)
    raise PolicymixError(
        f"{kind.__name__} cannot be exported: only tables and networks of the package "
        "can. Use agent.save and TrainedAgent.load"
    )


def _plain_head(heads: Any, state: Any) -> Plain:
    """The first of several heads."""
    if type(heads) is TableHeads:
        doubts = np.asarray(state.left * state.doubts[0])
        return "Table", {"table": np.asarray(state.entries[0]) + doubts}
    if type(heads) is NetworkHeads:
        network = state.online.parameters
        first = MLP(*(tuple(x[0] for x in part) for part in _parts(network)))
        return _plain_network(heads.learner.encoder, first)
    raise PolicymixError(f"heads of {type(heads).__name__} cannot be exported")


def _plain_actor(agent: SAC, state: SACState) -> Plain:
    """The student, or the actor's means, which come first; and bounds of actions."""
    learned = state.student or state.actor
    encoder, arrays = _plain_network(agent.encoder, learned.parameters)
    bounds = {"low": agent.action.low, "high": agent.action.high}
    return encoder, _outputs(arrays, slice(agent.size)) | {
        name: np.array(bound, np.float32) for name, bound in bounds.items()
    }


def _parts(network: MLP) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return network.weights, network.biases


def _plain_network(encoder: AbstractEncoder, network: MLP) -> Plain:
    arrays = {
        f"{name}.{place}": np.asarray(array)
        for name, part in zip(("weights", "biases"), _parts(network), strict=True)
        for place, array in enumerate(part)
    }
    if isinstance(encoder, Standardise):
        arrays |= {"centre": np.asarray(encoder.centre)}
        arrays |= {"spread": np.asarray(encoder.spread)}
    elif not isinstance(encoder, Identity | OneHot):
        raise PolicymixError(
            f"the encoder {type(encoder).__name__} cannot be exported. Use agent.save"
        )
    return type(encoder).__name__, arrays


def _outputs(arrays: dict[str, np.ndarray], kept: slice) -> dict[str, np.ndarray]:
    """Some of those of a table or of the last layer."""
    if "table" in arrays:
        return {"table": np.ascontiguousarray(arrays["table"][:, kept])}
    last = sum(name.startswith("weights.") for name in arrays) - 1
    cut = (f"weights.{last}", f"biases.{last}")
    return arrays | {name: arrays[name][kept] for name in cut}
