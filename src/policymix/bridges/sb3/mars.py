"""What MARS adds to Stable-Baselines3's off-policy learners."""

from collections.abc import Callable
from typing import Any

import numpy as np

from policymix.bridges.contest import Arm, Contest, Way
from policymix.bridges.sb3.advised import AdvisedOffPolicy
from policymix.bridges.sb3.guide import Guide, Leader, MarsForm
from policymix.bridges.sb3.policies import ADAM
from policymix.bridges.sb3.replay import UnitReplay
from policymix.bridges.sb3.student import imitate
from policymix.bridges.shaping import action_values
from policymix.bridges.spread import Spread
from policymix.core.errors import MissingExtraError, PolicymixError
from policymix.core.settings import DEFAULTS, Settings
from policymix.sources.library import SourceLibrary

try:
    import torch
except ImportError as error:
    raise MissingExtraError("the bridge to Stable-Baselines3", "sb3") from error

MARS_FORMS = ("sure", "explicit", "lookahead")
STUDENT_EVERY = 4
"""After so many updates the student has a lesson …"""
LESSON = 64
"""… of so many states, or a batch if that is less."""
FIXED_SCALE = 2.0
"""c of the forms that have one."""


class Mars(AdvisedOffPolicy):
    """Follows advice, except where the own action is surely better.

    Args:
        policy: "MlpPolicy".
        env: the target.
        sources: a library, as the user has it.
        form: "sure" takes the own action where its values are surely higher than those
            of the advised one, and the advised action elsewhere. The forms of the paper
            act on Q + cΦ: "explicit" learns Q from the raw reward, "lookahead" from the
            shaped one, with today's Φ.
        heads: value networks of the form "sure", an even number: one half picks the
            own action (in SAC the actor does), the other half judges it.
        caution: β of that form: deviations of the judges by which the own action must
            be better.
        scale: c of the other forms, or c as a function of the remaining progress, which
            runs from 1 to 0; 2 by default.
        precision: of their kernel on continuous actions, per unit of [−1, 1].
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
        form: MarsForm = "sure",
        heads: int = 4,
        caution: float = 2.0,
        scale: float | Callable[[float], float] | None = None,
        precision: float | None = None,
        transfer: Settings = DEFAULTS,
        **options: Any,
    ):
        if form not in MARS_FORMS:
            raise PolicymixError(
                f"form={form!r} is unknown: choose one of {MARS_FORMS}"
            )
        if heads < 4 or heads % 2:
            raise PolicymixError(
                f"heads is {heads}: one half picks actions, and the other half, at "
                "least two, judges them. Give an even number from 4 on"
            )
        given = {"scale": scale, "precision": precision}
        for name, value in given.items():
            if form == "sure" and value is not None:
                raise PolicymixError(
                    f"{name}={value!r}, but form='sure' has nothing to scale: it takes "
                    f"the advised action or the own one. Leave {name} out, or give "
                    "form='explicit' or 'lookahead'"
                )
        self.sources, self.form = sources, form
        self.heads, self.caution = heads, caution
        self.scale = FIXED_SCALE if scale is None else scale
        self.precision = precision
        self.transfer = transfer
        self.spread = Spread()
        self.contest = Contest()
        super().__init__(policy, env, **options)

    @property
    def decides(self) -> bool:
        """Whether a rule decides between two actions."""
        return self.form == "sure"

    def _setup_model(self) -> None:
        if self.decides:
            self.replay_buffer_class = self.replay_buffer_class or UnitReplay
            if not issubclass(self.replay_buffer_class, UnitReplay):
                raise PolicymixError(
                    f"replay_buffer_class={self.replay_buffer_class.__name__} does not "
                    "bring rewards to one unit. Leave it out, or give a subclass of "
                    "policymix.bridges.sb3.replay.UnitReplay"
                )
        given = self.policy_kwargs
        if self.decides:
            self.policy_kwargs = {**given, **self._networks()}
        super()._setup_model()
        self.policy_kwargs = given  # which SB3 saves, and compares with those of `load`
        self.guide = Guide(self.advisor, self.form, self.precision, self.caution)
        policy: Any = self.policy
        policy.attach(self.guide)
        if self.decides:
            policy.add_student(self.lr_schedule(1))
        self._weigh()

    def _networks(self) -> dict[str, Any]:
        """What the rule adds to the policy's arguments."""
        if "optimizer_class" in self.policy_kwargs:
            return {}
        given = self.policy_kwargs.get("optimizer_kwargs") or {}
        return {"optimizer_kwargs": {**ADAM, **given}}

    def _weigh(self) -> None:
        """The present c."""
        scale, left = self.scale, self._current_progress_remaining
        self.guide.scale = float(scale(left) if callable(scale) else scale)

    def _setup_learn(self, *arguments: Any, **options: Any) -> Any:
        total, callback = super()._setup_learn(*arguments, **options)
        self._update_current_progress_remaining(self.num_timesteps, max(total, 1))
        return total, callback

    def _update_current_progress_remaining(
        self, num_timesteps: int, total_timesteps: int
    ) -> None:
        super()._update_current_progress_remaining(num_timesteps, total_timesteps)
        self._weigh()

    def _forget_episodes(self) -> None:
        super()._forget_episodes()
        self._begun = np.zeros(self.n_envs, bool)
        self._lengths = np.zeros(self.n_envs, int)
        self._leaders: list[Arm] = []
        for _ in range(self.n_envs):
            self._leaders.append(self._draw())
        self.spread.forget_episodes()

    def _draw(self, place: int | None = None) -> Arm:
        """Who leads the next episode here, beside those that lead elsewhere."""
        running = zip(self._leaders, np.maximum(self._lengths, 1), strict=False)
        others = (pair for i, pair in enumerate(running) if i != place)
        return self.contest.draw(others)

    def _count(
        self, reward: np.ndarray, ended: np.ndarray, obs: np.ndarray, action: np.ndarray
    ) -> None:
        """Also who leads next, or the return that a shaped reward would have given."""
        if self.decides:
            self.spread.add(reward, ended, self.gamma)
            if not self._n_updates:  # whom to follow need not wait for the learner
                self._teach(1)
            totals = self._totals[0] + reward
            self._lengths += 1
            for place in np.flatnonzero(ended).tolist():
                facts = float(totals[place]), int(self._lengths[place])
                if self._n_updates:  # before, advice is not yet what it will be
                    self.contest.tell(self._leaders[place], *facts)
                self._lengths[place] = 0
                self._leaders[place] = self._draw(place)
        else:
            phi = self.guide.scale * action_values(
                self.advisor, obs, action, self.precision
            )
            self._totals[1] += reward - phi + self._begun * self.gamma * phi
            for total in self._totals[1][ended].tolist():
                self.logger.record_mean("transfer/shaped_return", total)
        self._begun = ~ended
        super()._count(reward, ended, obs, action)

    @property
    def leader(self) -> Leader:
        """Who acts best, by the returns so far."""
        return self.contest.best if self._n_updates else "advice"

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        *,
        advised: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """An action, as SB3's.

        Args:
            observation: one or several.
            state: none.
            episode_start: none.
            deterministic: whether to leave chance out.
            advised: whether sources may be asked; if not, the network answers that has
                learned to act as the rule does (in the other forms the values alone).
        """
        best: Leader = self.leader if advised else "student"
        with self.guide.led_by(self.guide.leader or best):
            return super().predict(observation, state, episode_start, deterministic)

    def _sample_action(self, *arguments: Any, **options: Any) -> Any:
        """What each leader would do: for the environment, and for the replay."""
        if not self.decides:
            return super()._sample_action(*arguments, **options)
        leaders = dict.fromkeys(self._leaders)
        found = [self._led(arm, *arguments, **options) for arm in leaders]
        led = np.array([list(leaders).index(arm) for arm in self._leaders])
        rows = np.arange(len(led))
        return tuple(np.stack(part)[led, rows] for part in zip(*found, strict=True))

    def _led(self, arm: Arm, *arguments: Any, **options: Any) -> tuple[np.ndarray, ...]:
        """What this one would do now, in the environment and in the replay."""
        if arm in ("explore", "around"):
            best = self.leader if arm == "around" else "own"
            with self.guide.led_by(best):
                return super()._sample_action(*arguments, **options)
        # Before the first update there is nothing to follow but the advice.
        chosen = self._follow(arm if self._n_updates else "advice")
        return chosen, chosen if chosen.ndim == 1 else self.policy.scale_action(chosen)

    def _follow(self, way: Way) -> np.ndarray:
        """What is done this way where nothing is left to chance.

        Whoever leads by advice follows it also where the own model is believed: what
        policies are worth their returns say.
        """
        obs = np.asarray(self._last_obs)
        if way == "advice":
            return self.advisor.advised(obs)[0]
        with self.guide.led_by(way):
            return self.policy.predict(obs, deterministic=True)[0]

    def _unit(self) -> float:
        """What rewards are divided by."""
        return self.spread.value

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Train the learner, the mixture as often, and the one that imitates both."""
        if not self.decides:
            super().train(gradient_steps, batch_size)
            return
        replay: Any = self.replay_buffer
        replay.unit = self._unit()
        lessons = -(self._n_updates // STUDENT_EVERY)
        super().train(gradient_steps, batch_size)
        lessons += self._n_updates // STUDENT_EVERY
        policy: Any = self.policy
        for _ in range(lessons):
            self._update_learning_rate(policy.student.optimizer)
            obs = replay.sample(min(batch_size, LESSON)).observations
            with torch.no_grad(), self.guide.led_by(self.leader):
                actions = policy._predict(obs, deterministic=True)
            loss = imitate(policy.student, obs, actions)
            self.logger.record("train/student_loss", loss)

    def _log_advice(self) -> None:
        super()._log_advice()
        if self.decides:
            self.logger.record("transfer/reward_unit", self._unit())
            for arm, mean in self.contest.means().items():
                self.logger.record(f"transfer/return_of_{arm}", mean)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, tensors = super()._get_torch_save_params()
        student = ["policy.student.optimizer"] if self.decides else []
        return [*names, *student], tensors
