"""The demonstration: which source does the mixture trust where?"""

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from policymix.belief import Belief, learn_belief
from policymix.catalogue import TransferTask, load_task, mean_score
from policymix.domains.cartpole import CartPole, right_source
from policymix.episodes import Sampled, collect, play, taking_turns
from policymix.libraries.making import policy_of
from policymix.progress import bars
from policymix.vector_tasks import DomainTasks

POSITIONS = np.linspace(-2.4, 2.4, 241)
ANGLES = np.linspace(-0.2, 0.2, 41)


def demo(out: Path, samples: int, seed: int) -> None:
    """Learn beliefs about Transfer-CartPole, print their truth and draw them."""
    started, console = time.perf_counter(), Console()
    task = load_task("cartpole")
    target = task.domain.family().target
    assert isinstance(target, CartPole)
    with bars(console) as begin:
        data = explore(task, target, samples, seed)
        belief = learn_belief(task.sources, data, seed=seed, begin=begin)
    weights = belief_over_the_track(belief)
    right = share_right(task, target, weights)
    console.print(score_table(task, belief, seed))
    console.print(
        f"After {samples:,} steps of the target the mixture trusts the right surface "
        f"on [bold]{right:.0%}[/] of the track (chance: {1 / len(task.sources):.0%})."
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "who-is-trusted-where.png"
    draw(task, target, weights, samples, path)
    seconds = time.perf_counter() - started
    console.print(f"picture: {path.resolve()}  ({seconds:.0f} s)", soft_wrap=True)


def explore(task: TransferTask, target: CartPole, samples: int, seed: int) -> Sampled:
    """Steps of the target, led by the sources in turn and often at random."""
    policies = [policy_of(source) for source in task.sources.sources]
    leader = taking_turns(policies, 40, seed)
    return collect(DomainTasks(target, 16), leader, samples, seed, epsilon=0.3)


def belief_over_the_track(belief: Belief) -> np.ndarray:
    """Weights at every angle and position, the velocities zero."""
    angle, position = np.meshgrid(ANGLES, POSITIONS, indexing="ij")
    zero = np.zeros_like(angle)
    obs = np.stack([position, zero, angle, zero], axis=-1).astype(np.float32)
    weights = belief.weights_of(obs.reshape(-1, 4))
    return weights.reshape(*angle.shape, -1)


def share_right(task: TransferTask, target: CartPole, weights: np.ndarray) -> float:
    """On how much of the track the most trusted source is the right one."""
    sources = [task.domain.family().sources[name] for name in task.sources.names]
    obs = jnp.zeros((len(POSITIONS), 4)).at[:, 0].set(POSITIONS)
    truth = jax.vmap(lambda o: right_source(target, sources, o))(obs)  # pyright: ignore[reportArgumentType]
    return float(np.mean(weights.argmax(axis=-1) == np.asarray(truth)[None, :]))


def score_table(task: TransferTask, belief: Belief, seed: int) -> Table:
    """Zero-shot scores on the target: every source, and the mixture's choice."""
    policies = {source.name: policy_of(source) for source in task.sources.sources}
    policies["the mixture's choice"] = belief.follow
    rng = np.random.default_rng(seed)
    policies["at random"] = lambda obs: rng.integers(4, size=len(obs))
    table = Table(title="Transfer-CartPole, no learning: steps balanced (of 500)")
    table.add_column("follow")
    table.add_column("mean of 50 episodes", justify="right")
    target = task.domain.family().target
    for name, policy in policies.items():
        score = mean_score(task.domain, play(target, policy, 50, 8_000_000))
        table.add_row(name, f"{score:.0f}")
    return table


def draw(
    task: TransferTask, target: CartPole, weights: np.ndarray, samples: int, path: Path
) -> None:
    """The force along the track, and under it the trust in every source."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    names = task.sources.names
    figure, axes = plt.subplots(
        len(names) + 1, 1, figsize=(7, 6.2), sharex=True, layout="constrained"
    )
    force = jax.vmap(target.force)(jnp.asarray(POSITIONS))
    axes[0].plot(POSITIONS, force, color="black")
    axes[0].set(ylabel="force F(x) (N)", ylim=(0, 80))
    axes[0].set_title(
        f"Transfer-CartPole: weight of each source after {samples:,} steps", fontsize=11
    )
    extent = (POSITIONS[0], POSITIONS[-1], ANGLES[0], ANGLES[-1])
    for i, name in enumerate(names):
        axes[i + 1].imshow(
            weights[..., i],
            extent=extent,
            origin="lower",
            aspect="auto",
            cmap="cividis",
            vmin=0,
            vmax=1,
        )
        axes[i + 1].set(ylabel=f"{name}\nangle (rad)")
    axes[-1].set_xlabel("cart position x (m)")
    figure.colorbar(axes[1].images[0], ax=axes[1:], label="weight a(s)", shrink=0.8)
    figure.savefig(path, dpi=150)
    plt.close(figure)
