"""An agent that has learned: ask it, test it, keep it in a folder."""

import dataclasses
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from policymix.beliefs.belief import Belief
from policymix.beliefs.build import MixtureMaker
from policymix.beliefs.mixture import AbstractMixture
from policymix.core.encoders import AbstractEncoder
from policymix.core.errors import PolicymixError
from policymix.core.settings import Settings
from policymix.core.types import Discrete
from policymix.environments.domain import score_of
from policymix.environments.registry import find_domain
from policymix.methods.recipes import find_recipe, recipes
from policymix.sources.library import kinds_of, library_record, read_library
from policymix.storage.folders import pack, read_folder, write_folder
from policymix.storage.places import a_path
from policymix.storage.policy_file import write_policy
from policymix.storage.records import (
    Reader,
    RecordError,
    blaming,
    read_settings,
    to_record,
)
from policymix.training.arguments import check_positive
from policymix.training.asked import Asked
from policymix.training.export import numpy_policy
from policymix.training.setup import build_setup
from policymix.training.task import TransferTask, explore, prepare
from policymix.training.trial import LearningSetup, Trial, begin

FORMAT, VERSION = "policymix trained agent", 1
SHOWN = 500
"""States in which an agent's belief is drawn, unless others are given."""


@dataclass(frozen=True)
class TrainedAgent:
    """One trial's result."""

    task: TransferTask
    method: str
    settings: Settings
    setup: LearningSetup
    trial: Trial

    def predict(self, obs: Any, advised: bool = True) -> Any:
        """The greedy action in one state, or an array of them for many states.

        Args:
            obs: one state, or rows of them.
            advised: act as in training; False acts on what the agent itself has
                learned, and asks no source.
        """
        space = self.setup.spec.observation
        discrete, shape = isinstance(space, Discrete), space.shape
        rows = np.asarray(obs) if discrete else np.asarray(obs, np.float32)
        if isinstance(space, Discrete) and not _are_states(rows, space.n):
            raise PolicymixError(
                f"{obs!r} is no state: this agent knows the integers 0 … {space.n - 1}"
            )
        if rows.shape == shape:
            action = self._act(rows[None], advised)[0]
            return action if self.setup.continuous else int(action)
        if rows.shape[1:] != shape or rows.ndim != len(shape) + 1:
            raise PolicymixError(
                f"an observation of shape {rows.shape} was given: this agent acts on "
                f"{shape}, or on rows of that shape"
            )
        return self._act(rows, advised)

    def evaluate(
        self, episodes: int = 10, seed: int = 6_000_000, advised: bool = True
    ) -> float:
        """The mean score of greedy episodes, in the domain's measure.

        Where the measure is regret it is computed, and no episode is played.

        Args:
            episodes: how many.
            seed: of the first.
            advised: as in `predict`.
        """
        check_positive("episodes", episodes)
        domain, policy = self.task.domain, partial(self._act, advised=advised)
        return score_of(domain, domain.target, policy, episodes, seed)

    @property
    def belief(self) -> Belief:
        """Which source the agent trusts where; only methods with a mixture have one."""
        mixture = self.setup.mixture
        if mixture is None:
            raise PolicymixError(
                f"{self.method} learns no mixture. Train mars, mapse or another "
                "method that does"
            )
        return Belief(self.task.sources, mixture, self.trial.mixture, self._visited)

    def _visited(self) -> np.ndarray:
        return explore(self.task, SHOWN).obs

    def _repr_html_(self) -> str:
        told = f"{self.method} on {self.task.domain.name}"
        shown = "" if self.setup.mixture is None else self.belief._repr_html_()
        return f"<p>{escape(told)}</p>{shown}"

    def save(self, folder: str | Path) -> None:
        """Write a new folder; only methods that have a name can be saved.

        The sources go with it if they are tables and networks for a domain of this
        package. Otherwise `load` needs the task again.
        """
        if self.method not in recipes(len(self.task.sources)):
            raise PolicymixError(
                f"the method {self.method!r} has no name to load it by: give it one "
                "with policymix.register_method first"
            )
        arrays: dict[str, np.ndarray] = {}
        facts = {
            "domain": self.task.domain.name,
            "method": self.method,
            "settings": dataclasses.asdict(self.settings),
            "sources": list(self.task.sources.names),
        }
        facts |= _sources_record(self.task, arrays)
        usual = build_setup(self.task, self.method, self.settings).mixture
        if not eqx.tree_equal(self.setup.mixture, usual):
            facts["mixture"] = type(self.setup.mixture).__name__
        for place, leaf in enumerate(jax.tree.leaves(self.trial)):
            arrays[f"trial.{place}"] = np.asarray(leaf)
        write_folder(a_path("folder", folder), pack(FORMAT, VERSION, facts, arrays))

    def export(self, path: str | Path) -> None:
        """Write what the agent itself has learned as a policy in plain NumPy.

        `policymix.load_policy(path)` acts as `predict(obs, advised=False)` does, asks
        no source and needs only NumPy.

        Args:
            path: of the file, which ends in .npz; it is replaced if there is one.
        """
        path = a_path("path", path)
        if path.suffix != ".npz":
            raise PolicymixError(
                f"{path} does not end in .npz, the form in which policies are exported"
            )
        facts = {"domain": self.task.domain.name, "method": self.method}
        agent, state = self.setup.agent, self.trial.agent
        write_policy(path, numpy_policy(agent, state, **facts))

    @classmethod
    def load(
        cls,
        folder: str | Path,
        task: TransferTask | None = None,
        mixture: AbstractMixture | MixtureMaker | None = None,
    ) -> "TrainedAgent":
        """Read a folder; no code in it is ever executed.

        Args:
            folder: that `save` wrote.
            task: what the agent was trained on, if its sources could not be saved.
            mixture: the same that was given to `train`, if one was.
        """
        task = None if task is None else prepare(task)
        facts, arrays = read_folder(Path(folder), FORMAT, VERSION)
        _check_task(Path(folder), facts, task)
        if "mixture" in facts and mixture is None:
            raise PolicymixError(
                f"the agent in {folder} was trained with a mixture of your own, "
                f"{facts['mixture']}. Give it as well: "
                "TrainedAgent.load(folder, task, mixture)"
            )
        with blaming(Path(folder), "facts"):
            return _read(cls, facts, arrays, task, mixture)

    def _act(self, obs: np.ndarray, advised: bool) -> np.ndarray:
        return self._asked(obs, alone=not advised)

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self.setup, self.trial)


def _are_states(rows: np.ndarray, count: int) -> bool:
    whole = np.issubdtype(rows.dtype, np.integer)
    return whole and bool(np.all((rows >= 0) & (rows < count)))


def _read(
    cls: type[TrainedAgent],
    facts: dict[str, Any],
    arrays: dict[str, np.ndarray],
    task: TransferTask | None,
    mixture: AbstractMixture | MixtureMaker | None,
) -> TrainedAgent:
    states = {name for name in arrays if name.startswith("trial.")}
    kinds = kinds_of(facts.get("domain"))
    reader = Reader(kinds, {k: v for k, v in arrays.items() if k not in states})
    task = _task_of(facts, reader) if task is None else _in_units(facts, reader, task)
    settings = read_settings(facts["settings"])
    method = facts["method"]
    find_recipe(method, len(task.sources))
    setup = build_setup(task, method, settings, mixture)
    observation = setup.spec.observation
    zeros = jnp.zeros(observation.shape, float if observation.shape else int)
    shapes = jax.eval_shape(partial(begin, setup), jax.random.key(0), zeros)
    expected, structure = jax.tree.flatten(shapes)
    if states != {f"trial.{place}" for place in range(len(expected))}:
        raise RecordError("trial", f"{len(states)} arrays instead of {len(expected)}")
    leaves = []
    for place, wanted in enumerate(expected):
        leaf = arrays[f"trial.{place}"]
        if leaf.shape != wanted.shape or leaf.dtype != wanted.dtype:
            raise RecordError(f"trial.{place}", f"{leaf.shape} is not {wanted.shape}")
        if np.any(np.isnan(leaf)):
            raise RecordError(f"trial.{place}", "its array holds NaN")
        leaves.append(jnp.asarray(leaf))
    trial = jax.tree.unflatten(structure, leaves)
    return cls(task, method, settings, setup, trial)


def _task_of(facts: dict[str, Any], reader: Reader) -> TransferTask:
    """The task of a domain that comes with the package."""
    library = read_library(facts["library"], reader)
    domain = find_domain(facts["domain"])
    if library.spec != domain.spec():
        raise RecordError("library", f"its spaces are not those of {domain.name}")
    return TransferTask(domain, library)


def _in_units(
    facts: dict[str, Any], reader: Reader, task: TransferTask
) -> TransferTask:
    """The task that was given, its observations in the units of the agent's training.

    Units that are measured anew differ, if only because a source acts by chance.
    """
    if "encoder" not in facts:
        return task
    encoder = reader.read(facts["encoder"], "encoder", AbstractEncoder)
    return replace(task, sources=replace(task.sources, encoder=encoder))


def _sources_record(
    task: TransferTask, arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    """The sources if they can be read back, or else how observations were encoded."""
    found: dict[str, np.ndarray] = {}
    record: Any
    if not task.is_own:
        with suppress(PolicymixError):
            record = library_record(task.sources, found)
            read_library(record, Reader(kinds_of(task.domain.name), found))
            arrays.update(found)
            return {"library": record}
    found.clear()
    with suppress(PolicymixError):
        record = to_record(task.sources.experts.encoder, "encoder", found)
        Reader(kinds_of(None), found).read(record, "encoder", AbstractEncoder)
        arrays.update(found)
        return {"encoder": record}
    return {}


def _check_task(folder: Path, facts: dict[str, Any], task: TransferTask | None) -> None:
    """Complain if no task was given but is needed, or if it is another's."""
    if task is None and "library" not in facts:
        raise PolicymixError(
            f"the agent in {folder} was saved without its sources for "
            f"{facts.get('domain')!r}. Give the task that it was trained on as well: "
            "TrainedAgent.load(folder, task)"
        )
    if task is None or "sources" not in facts:
        return
    found = (task.domain.name, list(task.sources.names))
    expected = (facts.get("domain"), facts["sources"])
    if found != expected:
        raise PolicymixError(
            f"the agent in {folder} was trained on {expected[0]!r} with the sources "
            f"{expected[1]}, not on {found[0]!r} with {found[1]}. Give that task"
        )
