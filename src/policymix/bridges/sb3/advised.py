"""What Stable-Baselines3's learners need to be advised.

An advisor that learns as they do, figures for their log, and a place in their file.
"""

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from policymix.bridges.advisor import AT_ONCE, Advisor
from policymix.bridges.sb3.vec_env import refuse_normalised, starts_of, unprinted
from policymix.core.errors import FileFormatError, MissingExtraError, PolicymixError
from policymix.core.settings import Settings
from policymix.core.spaces import spec_of_spaces
from policymix.core.types import Discrete
from policymix.sources.library import SourceLibrary
from policymix.storage.folders import MAX_ARRAYS_BYTES, write_file

try:
    from stable_baselines3.common.base_class import BaseAlgorithm, maybe_make_env
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

ARRAYS, FACTS = "policymix.safetensors", "policymix.json"
"""What is added to the zip file that SB3 writes."""


class Advised(BaseAlgorithm):
    """What all of these have in common: an advisor that learns as they do.

    Args:
        policy: "MlpPolicy".
        env: the target.
        **options: as SB3's.
    """

    sources: SourceLibrary | None
    transfer: Settings
    advisor: Advisor

    def __init__(self, policy: Any, env: Any, **options: Any):
        known = self.policy_aliases["MlpPolicy"]
        if isinstance(policy, str):
            fits = policy == "MlpPolicy"
        else:
            fits = issubclass(policy, known)
        if not fits:
            raise PolicymixError(
                f"policy={policy!r} cannot be advised by sources, which know vectors "
                f"and numbers. Give 'MlpPolicy' or a subclass of {known.__name__}"
            )
        if env is not None:
            env = maybe_make_env(env, verbose=options.get("verbose", 0))
            spec_of_spaces(env, "the target")
            refuse_normalised(env)
        super().__init__(policy, env, **options)  # pyright: ignore[reportArgumentType]

    def _setup_model(self) -> None:
        if self.sources is None:
            raise PolicymixError(
                f"{type(self).__name__} needs sources: {type(self).__name__}(…, "
                f"sources=library), also in {type(self).__name__}.load(path, sources="
                "library), since sources are not in the file"
            )
        super()._setup_model()  # pyright: ignore[reportAbstractUsage]
        starts = None if self.env is None else starts_of(self.env)
        spec = spec_of_spaces(self, "the target")
        seed = 0 if self.seed is None else self.seed
        self.advisor = Advisor(self.sources, spec, self.transfer, seed, starts)
        self._forget_episodes()

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Go on in another environment."""
        refuse_normalised(env)
        super().set_env(env, force_reset)

    def _setup_learn(self, *arguments: Any, **options: Any) -> tuple[int, BaseCallback]:
        before = self._last_obs
        begun = super()._setup_learn(*arguments, **options)
        if self._last_obs is not before:
            self._forget_episodes()
        return begun

    def _forget_episodes(self) -> None:
        """Begin to count their returns: the raw and the shaped one, of each copy."""
        self._totals = np.zeros((2, self.n_envs))

    def _take(
        self,
        actions: np.ndarray,
        new_obs: Any,
        reward: np.ndarray,
        dones: np.ndarray,
        infos: list[dict[str, Any]],
    ) -> None:
        """Let the advisor know of a step: actions as the environment took them."""
        obs, next_obs = np.array(self._last_obs), np.array(new_obs)
        for place in np.flatnonzero(dones).tolist():
            final = infos[place].get("terminal_observation")
            next_obs[place] = next_obs[place] if final is None else final
        self._tell(obs, actions, next_obs)
        normalised = self._vec_normalize_env
        raw = reward if normalised is None else normalised.get_original_reward()
        self._count(np.asarray(raw), np.asarray(dones, bool), obs, actions)

    def _tell(self, *rows: np.ndarray) -> None:
        """Let it know of a transition of each copy."""
        self.advisor.observe(*rows)

    def _count(
        self, reward: np.ndarray, ended: np.ndarray, obs: np.ndarray, action: np.ndarray
    ) -> None:
        """Returns for the log."""
        del obs, action
        self._totals[0] += reward
        for total in self._totals[0][ended].tolist():
            self.logger.record_mean("transfer/raw_return", total)
        self._totals[:, ended] = 0.0

    def _log_advice(self) -> None:
        for tag, figure in self.advisor.figures().items():
            self.logger.record(tag, figure, unprinted(tag))

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "sources", "advisor", "guide"]

    def save(
        self,
        path: str | Path | io.BufferedIOBase,
        exclude: Iterable[str] | None = None,
        include: Iterable[str] | None = None,
    ) -> None:
        """Write SB3's zip file with the mixture in it; the sources stay outside."""
        buffer = io.BytesIO()
        super().save(buffer, exclude, include)  # pyright: ignore[reportArgumentType]
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr(ARRAYS, save(self.advisor.arrays()))
            facts = {"components": list(self.advisor.names)}
            archive.writestr(FACTS, json.dumps(facts))
        if isinstance(path, io.IOBase):
            path.write(buffer.getvalue())  # pyright: ignore[reportAttributeAccessIssue]
            return
        place = Path(str(path))
        write_file(
            place if place.suffix else place.with_suffix(".zip"), buffer.getvalue()
        )

    @classmethod
    def load(
        cls,
        path: Any,
        env: Any = None,
        *arguments: Any,
        sources: SourceLibrary | None = None,
        **options: Any,
    ) -> Any:
        """Read what `save` wrote; SB3's part of it is unpickled, so trust the file.

        Args:
            path: the zip file.
            env: to go on learning.
            *arguments: as SB3's.
            sources: those that it was trained with.
            **options: as SB3's.
        """
        facts, arrays = _read_advisor(path)
        model = super().load(path, env, *arguments, sources=sources, **options)
        if facts["components"] != list(model.advisor.names):
            raise PolicymixError(
                f"{path}: it was trained with {facts['components']}, not with "
                f"{list(model.advisor.names)}. Give the same sources in the same order"
            )
        model.advisor.restore(arrays)
        return model


class AdvisedOffPolicy(Advised, OffPolicyAlgorithm):
    """Those that learn from a replay; the mixture is trained as often as they are.

    Both the steps that it is told of and its lessons are saved up until a call is worth
    it.
    """

    def _setup_model(self) -> None:
        if self.n_steps > 1:
            raise PolicymixError(
                f"n_steps is {self.n_steps}, but advice is given for single steps. "
                "Leave n_steps at 1"
            )
        super()._setup_model()
        self._untold: list[tuple[np.ndarray, ...]] = []
        self._due = 0

    def _tell(self, *rows: np.ndarray) -> None:
        self._untold.append(rows)
        if len(self._untold) == AT_ONCE:
            super()._tell(*map(np.concatenate, zip(*self._untold, strict=True)))
            self._untold = []

    def _teach(self, lessons: int) -> None:
        """Train the mixture, now or soon."""
        self._due += lessons
        if self._due >= AT_ONCE:
            self.advisor.learn(self._due)
            self._due = 0

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: np.ndarray,
        new_obs: Any,
        reward: np.ndarray,
        dones: np.ndarray,
        infos: list[dict[str, Any]],
    ) -> None:
        discrete = isinstance(self.advisor.spec.action, Discrete)
        scaled: Any = buffer_action
        actions = scaled if discrete else self.policy.unscale_action(scaled)
        self._take(actions, new_obs, reward, dones, infos)
        super()._store_transition(
            replay_buffer, buffer_action, new_obs, reward, dones, infos
        )

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Train the learner, and the mixture as often."""
        self._teach(gradient_steps)
        super().train(gradient_steps, batch_size)

    def dump_logs(self) -> None:
        """Write the log; to ask for figures at every step would wait for each."""
        self._log_advice()
        super().dump_logs()


def _read_advisor(path: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What was added to SB3's file."""
    place = path
    if not isinstance(path, io.IOBase):
        place = Path(path)
        place = place if place.is_file() else Path(f"{path}.zip")
    try:
        with zipfile.ZipFile(place) as archive:
            facts, arrays = (_member(archive, name) for name in (FACTS, ARRAYS))
            return json.loads(facts), load(arrays)
    except (KeyError, ValueError, SafetensorError, zipfile.BadZipFile) as error:
        raise FileFormatError(
            place,
            "file",
            f"no advised learner ({error})",
            "Give a file that MarsDQN, MarsSAC, MarsPPO, MapseDQN or MapseSAC saved",
        ) from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """One file of an archive, which may be no bomb."""
    with archive.open(name) as file:
        content = file.read(MAX_ARRAYS_BYTES + 1)
    if len(content) > MAX_ARRAYS_BYTES:
        raise ValueError(f"{name} has more than the {MAX_ARRAYS_BYTES} bytes to read")
    return content
