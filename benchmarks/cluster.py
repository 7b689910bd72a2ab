"""Two Ray nodes on one machine: the same bytes as here, also when one is killed.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --domain maze --parts scratch mars --kill 20
    python benchmarks/cluster.py --kill-after 1

Needs the extra `ray`. The nodes are processes of this machine, each with one core.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import ray
from cyclopts import App, Parameter
from ray.cluster_utils import Cluster

from policymix.core.progress import silent
from policymix.experiments.blocks import Blockwise, run_on
from policymix.experiments.executors import Ray
from policymix.experiments.plans import Experiment, plan
from policymix.experiments.runner import Wanted, run_here
from policymix.storage.runs import FACTS
from policymix.training.task import load_task, prepare

app = App(help=__doc__)


class Counted:
    """An executor that counts what was begun."""

    def __init__(self, executor: Ray):
        self._executor, self.workers, self.begun = executor, executor.workers, 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Begin."""
        self.begun += 1
        return self._executor.submit(function, *arguments)


class Killed:
    """A node, and what had been done when it was killed."""

    def __init__(self, cluster: Cluster, node: Any, done: list[Any]):
        self._cluster, self._node, self._done = cluster, node, done
        self.told = "no node was killed"

    def __call__(self) -> None:
        """Kill it, as kill -9 does."""
        self.told = f"a node was killed after {len(self._done)} blocks"
        self._cluster.remove_node(self._node, allow_graceful=False)


def wanted_in(
    experiment: Experiment, parts: tuple[str, ...], out: Path
) -> list[Wanted]:
    """The parts of these names."""
    return [
        Wanted(experiment, part, out / part.name)
        for part in experiment.parts
        if part.name in parts
    ]


def files_in(out: Path) -> dict[str, bytes]:
    """All but the facts, which tell how long it took."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != FACTS
    }


@app.default
def main(
    *,
    domain: str = "cartpole",
    parts: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (
        "scratch",
        "follow",
    ),
    block: int = 1,
    kill: float = 0.0,
    kill_after: int = 0,
) -> None:
    """Run parts of a small experiment on two nodes and here, and compare.

    Args:
        domain: its name.
        parts: of its experiment.
        block: trials of a block.
        kill: seconds after which one of the nodes is killed; 0 leaves both alone.
        kill_after: the same in blocks that are done, however slow the machine is.
    """
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    executor = Counted(Ray())
    experiment = plan(prepare(load_task(domain)), seed=0, quick=True)
    done: list[Any] = []
    killing = Killed(cluster, second, done)
    with tempfile.TemporaryDirectory() as folder:
        there, here = Path(folder) / "there", Path(folder) / "here"
        if kill:
            timer = threading.Timer(kill, killing)
            timer.daemon = True  # the work may be quicker
            timer.start()
        started = time.perf_counter()
        wanted = wanted_in(experiment, parts, there)

        def at_block(*told: Any) -> None:
            done.append(told)
            if len(done) == kill_after:
                killing()

        run_on(Blockwise(executor, block), wanted, at_block)
        seconds = time.perf_counter() - started
        nodes = sum(node["Alive"] for node in ray.nodes())
        ray.shutdown()
        cluster.shutdown()
        run_here(wanted_in(experiment, parts, here), silent, lambda *_: None)
        same = files_in(there) == files_in(here)
        count = len(files_in(there))
    counted = f"{len(done)} blocks done, {executor.begun} begun"
    print(f"{counted}, {seconds:.0f} s; {killing.told}")
    print(f"nodes in the end: {nodes}; {count} files, equal to those made here: {same}")
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    app()
