"""One larger batch every few samples instead of a small one after each: what it costs.

    python benchmarks/learn_every.py curves --every 4 --batch 128 --rates 3
    python benchmarks/learn_every.py curves --every 8 --batch 64 --rates 4 --epochs 1
    python benchmarks/learn_every.py speed --every 4 --batch 128 --trials 8192

`mars` on Transfer-CartPole, with its sources and with useless ones; rates of learners
and mixture are multiplied. Made for a GPU, where 512 trials take a minute.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cyclopts
import numpy as np

import policymix as pm
from policymix.cli.timing import our_chunks, rate, warm_up
from policymix.core.settings import Settings

several = cyclopts.Parameter(consume_multiple=True, negative=())
app = cyclopts.App(help=__doc__, default_parameter=several)


@cyclopts.Parameter(name="*")
@dataclass(frozen=True)
class Lessons:
    """When `mars` learns, and from how much."""

    every: int = 1
    """Samples between two lessons."""
    batch: int = 32
    rates: float = 1.0
    """Times the usual ones."""
    epochs: int = 3
    """Of the mixture, on each batch; its rate is doubled if there is but one."""

    def settings(self, usual: Settings) -> Settings:
        beliefs = self.rates * (2.0 if self.epochs == 1 else 1.0)
        return replace(
            usual,
            learn_every=self.every,
            batch=self.batch,
            epochs=self.epochs,
            learning_rate=self.rates * usual.learning_rate,
            shaped_rate=self.rates * usual.shaped_rate,
            mixture_rate=beliefs * usual.mixture_rate,
        )


USUAL = Lessons()


@app.command
def curves(
    *,
    lessons: Lessons = USUAL,
    domains: Sequence[str] = ("cartpole-useless", "cartpole"),
    trials: int = 512,
    seed: int = 1000,
) -> None:
    """Mean tests of all trials, with sources and without."""
    for domain in domains:
        task = pm.load_task(domain)
        settings = lessons.settings(task.domain.settings)
        done = pm.train(task, "mars", seed=seed, trials=trials, settings=settings)
        steps = sorted({row.step for row in done.rows})
        scores, alone = (
            np.array([getattr(row, name) for row in done.rows]).reshape(len(steps), -1)
            for name in ("score", "alone")
        )
        areas = scores.mean(axis=0)
        error = areas.std(ddof=1) / len(areas) ** 0.5
        print(f"{domain} {lessons}: area {areas.mean():.1f} ± {error:.1f}")
        print(f"  end {scores[-1].mean():.1f}, alone {alone[-1].mean():.1f}")
        print("  " + " ".join(f"{score:.0f}" for score in scores.mean(axis=1)))


@app.command
def speed(
    *, lessons: Lessons = USUAL, trials: int = 8192, seconds: float = 2.0
) -> None:
    """Samples a second in training; compilation and tests are left out."""
    task = pm.load_task("cartpole")
    settings = lessons.settings(task.domain.settings)
    chunk = our_chunks(task, "mars", trials, settings)
    warm_up(chunk)
    print(f"{lessons}, {trials} trials: {rate(chunk, seconds):,.0f} samples/s")


if __name__ == "__main__":
    app()
