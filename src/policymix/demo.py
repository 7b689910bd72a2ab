"""The demonstration: which source does the mixture trust where?"""

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from policymix.belief import Belief, learn_belief
from policymix.catalogue import TransferTask, explore, load_task, mean_score
from policymix.domains.cartpole import CartPole, right_source
from policymix.episodes import play, policy_of
from policymix.progress import bars

POSITIONS = np.linspace(-2.4, 2.4, 241)
ANGLES = np.linspace(-0.2, 0.2, 41)


def demo(out: Path, samples: int, seed: int) -> None:
    """Learn beliefs about Transfer-CartPole, print their truth and draw them."""
    started, console = time.perf_counter(), Console()
    task = load_task("cartpole")
    target = task.domain.family().target
    assert isinstance(target, CartPole)
    with bars(console) as begin:
        data = explore(task, samples, seed)
        belief = learn_belief(task.sources, data, seed=seed, begin=begin)
    right = share_right(task, belief, data.obs)
    console.print(score_table(task, belief, seed))
    console.print(
        f"After {samples:,} steps of the target the mixture trusts the right source in "
        f"[bold]{right:.0%}[/] of the visited states "
        f"(chance: {1 / len(task.sources):.0%})."
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "who-is-trusted-where.png"
    draw(task, target, belief_over_the_track(belief), data.obs[:, 0], path)
    seconds = time.perf_counter() - started
    console.print(f"picture: {path.resolve()}  ({seconds:.0f} s)", soft_wrap=True)


def belief_over_the_track(belief: Belief) -> np.ndarray:
    """Weights at every angle and position, the velocities zero."""
    angle, position = np.meshgrid(ANGLES, POSITIONS, indexing="ij")
    zero = np.zeros_like(angle)
    obs = np.stack([position, zero, angle, zero], axis=-1).astype(np.float32)
    weights = belief.weights_of(obs.reshape(-1, 4))
    return weights.reshape(*angle.shape, -1)


def share_right(task: TransferTask, belief: Belief, visited: np.ndarray) -> float:
    """In how many of the visited states the most trusted source is the right one."""
    family = task.domain.family()
    sources = [family.sources[name] for name in task.sources.names]
    find = jax.vmap(lambda obs: right_source(family.target, sources, obs))  # pyright: ignore[reportArgumentType]
    chosen = belief.weights_of(visited).argmax(axis=1)
    return float(np.mean(chosen == np.asarray(find(jnp.asarray(visited)))))


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
    task: TransferTask,
    target: CartPole,
    weights: np.ndarray,
    visited: np.ndarray,
    path: Path,
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
    counts, edges = np.histogram(visited, bins=96, range=(-2.4, 2.4))
    axes[0].stairs(40 * counts / counts.max(), edges, fill=True, color="0.85")
    axes[0].plot(POSITIONS, force, color="black")
    axes[0].set(ylabel="force F(x) (N)", ylim=(0, 80))
    axes[0].set_title(
        f"Transfer-CartPole: weight of each source after {len(visited):,} steps\n"
        "(grey: where those steps were)",
        fontsize=11,
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
