"""Off-policy learners of Stable-Baselines3 with MARS or MAPSE."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors.numpy import load, save

from policymix.bridges.advisor import Advisor
from policymix.bridges.guiding import (
    AdvisedDQNPolicy,
    AdvisedSACPolicy,
    Guide,
    MarsForm,
)
from policymix.bridges.shaping import action_values
from policymix.bridges.vectors import starts_of
from policymix.errors import MissingExtraError, PolicymixError
from policymix.files import write_file
from policymix.settings import Settings
from policymix.sources import SourceLibrary
from policymix.spaces import spec_of_spaces
from policymix.types import Discrete

try:
    from stable_baselines3 import DQN, SAC
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

ARRAYS, FACTS = "policymix.safetensors", "policymix.json"
"""What is added to the zip file that SB3 writes."""


class Advised(OffPolicyAlgorithm):
    """What all of these have in common: an advisor that learns as they do."""

    sources: SourceLibrary | None
    transfer: Settings
    advisor: Advisor

    def _setup_model(self) -> None:
        super()._setup_model()
        if self.sources is None:
            raise PolicymixError(
                f"{type(self).__name__} needs sources: {type(self).__name__}(…, "
                f"sources=library), also in {type(self).__name__}.load(path, sources="
                "library), since sources are not in the file"
            )
        if self.n_steps > 1:
            raise PolicymixError("n_steps is above 1: advice is given for single steps")
        normalised = self._vec_normalize_env
        if normalised is not None and normalised.norm_obs:
            raise PolicymixError(
                "the observations are normalised by VecNormalize, but sources know "
                "them as they are. Give VecNormalize(…, norm_obs=False)"
            )
        starts = None if self.env is None else starts_of(self.env, self.seed)
        spec = spec_of_spaces(self, "the target")
        seed = 0 if self.seed is None else self.seed
        self.advisor = Advisor(self.sources, spec, self.transfer, seed, starts)
        self._totals = np.zeros((2, self.n_envs))

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: np.ndarray,
        new_obs: Any,
        reward: np.ndarray,
        dones: np.ndarray,
        infos: list[dict[str, Any]],
    ) -> None:
        obs, next_obs = np.array(self._last_obs), np.array(new_obs)
        for place in np.flatnonzero(dones).tolist():
            final = infos[place].get("terminal_observation")
            next_obs[place] = next_obs[place] if final is None else final
        discrete = isinstance(self.advisor.spec.action, Discrete)
        scaled = buffer_action
        actions = scaled if discrete else self.policy.unscale_action(scaled)
        self.advisor.observe(obs, actions, next_obs)
        self._count(np.asarray(reward), np.asarray(dones, bool), obs, actions)
        super()._store_transition(
            replay_buffer, buffer_action, new_obs, reward, dones, infos
        )

    def _count(
        self, reward: np.ndarray, ended: np.ndarray, obs: np.ndarray, action: np.ndarray
    ) -> None:
        """Returns for the log."""
        del obs, action
        self._totals[0] += reward
        for total in self._totals[0][ended].tolist():
            self.logger.record_mean("transfer/raw_return", total)
        self._totals[:, ended] = 0.0

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Train the learner, and the mixture as often."""
        self.advisor.learn(gradient_steps)
        super().train(gradient_steps, batch_size)
        for tag, figure in self.advisor.figures().items():
            self.logger.record(tag, figure)

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
        model = super().load(path, env, *arguments, sources=sources, **options)
        place = path
        if not isinstance(path, io.IOBase):
            place = Path(str(path))
            place = place if place.exists() else place.with_suffix(".zip")
        with zipfile.ZipFile(place) as archive:
            facts = json.loads(archive.read(FACTS))
            arrays = load(archive.read(ARRAYS))
        if facts["components"] != list(model.advisor.names):
            raise PolicymixError(
                f"{place}: it was trained with {facts['components']}, not with "
                f"{list(model.advisor.names)}. Give the same sources in the same order"
            )
        model.advisor.restore(arrays)
        return model


class Mars(Advised):
    """Acts on Q + cΦ.

    Args:
        policy: "MlpPolicy".
        env: the target.
        sources: a library, as the user has it.
        form: "explicit" learns Q from the raw reward; "lookahead" learns it from the
            shaped reward, with today's Φ.
        scale: c, or c as a function of the remaining progress, which runs from 1 to 0.
            A constant keeps the advice for good; `lambda left: 2.0 * left` lets go.
        precision: of the kernel on continuous actions, per unit of [−1, 1].
        transfer: settings of the mixture; by default with a component for the target's
            own model, which takes over where no source explains the target.
        **options: as SB3's.
    """

    guide: Guide
    form: MarsForm

    def __init__(
        self,
        policy: Any,
        env: Any,
        sources: SourceLibrary | None = None,
        *,
        form: MarsForm = "explicit",
        scale: float | Callable[[float], float] = 2.0,
        precision: float | None = None,
        transfer: Settings | None = None,
        **options: Any,
    ):
        if form not in ("explicit", "lookahead"):
            raise PolicymixError(
                f"form={form!r} is unknown: choose 'explicit' or 'lookahead'"
            )
        self.sources, self.form, self.scale = sources, form, scale
        self.precision = precision
        self.transfer = Settings(own_model=True) if transfer is None else transfer
        super().__init__(policy, env, **options)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.guide = Guide(self.advisor, self.form, self.precision)
        self._weigh()
        self.policy.attach(self.guide)  # pyright: ignore[reportCallIssue]
        self._begun = np.zeros(self.n_envs, bool)

    def _weigh(self) -> None:
        """The present c."""
        scale, left = self.scale, self._current_progress_remaining
        self.guide.scale = float(scale(left) if callable(scale) else scale)

    def _sample_action(self, *arguments: Any, **options: Any) -> Any:
        self._weigh()
        return super()._sample_action(*arguments, **options)

    def _count(
        self, reward: np.ndarray, ended: np.ndarray, obs: np.ndarray, action: np.ndarray
    ) -> None:
        """Also the return that the shaped reward would have given."""
        phi = self.guide.scale * action_values(
            self.advisor, obs, action, self.precision
        )
        self._totals[1] += reward - phi + self._begun * self.gamma * phi
        self._begun = ~ended
        for total in self._totals[1][ended].tolist():
            self.logger.record_mean("transfer/shaped_return", total)
        super()._count(reward, ended, obs, action)


class MarsDQN(Mars, DQN):
    """SB3's DQN with MARS; see `Mars` for what is added to its arguments."""

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": AdvisedDQNPolicy}


class MarsSAC(Mars, SAC):
    """SB3's SAC with MARS: Φ has a kernel on the action; see `Mars`."""

    policy_aliases: ClassVar[dict[str, type]] = {"MlpPolicy": AdvisedSACPolicy}


class Mapse(Advised):
    """Does what a source drawn from the mixture would do, with probability p.

    Args:
        policy: "MlpPolicy".
        env: the target.
        sources: a library, as the user has it.
        reuse: p after k episodes is reuse^k.
        transfer: settings of the mixture.
        **options: as SB3's.
    """

    def __init__(
        self,
        policy: Any,
        env: Any,
        sources: SourceLibrary | None = None,
        *,
        reuse: float = 0.85,
        transfer: Settings | None = None,
        **options: Any,
    ):
        if not 0.0 <= reuse <= 1.0:
            raise PolicymixError(f"reuse is {reuse}: it must lie between 0 and 1")
        self.sources, self.reuse = sources, reuse
        self.transfer = Settings(own_model=True) if transfer is None else transfer
        super().__init__(policy, env, **options)

    def _sample_action(self, *arguments: Any, **options: Any) -> Any:
        action, buffer_action = super()._sample_action(*arguments, **options)
        reused = np.random.random(len(action)) < self.reuse**self._episode_num
        if not reused.any():
            return action, buffer_action
        advice, drawn = self.advisor.draw(np.asarray(self._last_obs))
        taken = reused & drawn
        if isinstance(self.advisor.spec.action, Discrete):
            chosen = np.where(taken, advice, action.ravel()).reshape(action.shape)
            return chosen, chosen
        scaled = self.policy.scale_action(advice)
        buffer_action = np.where(taken[:, None], scaled, buffer_action)
        return np.where(taken[:, None], advice, action), buffer_action


class MapseDQN(Mapse, DQN):
    """SB3's DQN with MAPSE; see `Mapse` for what is added to its arguments."""


class MapseSAC(Mapse, SAC):
    """SB3's SAC with MAPSE; see `Mapse`."""
