"""Learn a new task from several simulators: contextual policy transfer.

The public names are those imported below, for type checkers. They are loaded when they
are first used, so importing the package is quick, starts no JAX and changes none of its
settings.
"""

import ast
import importlib
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policymix.agents.base import AbstractAgent as AbstractAgent
    from policymix.beliefs.belief import Belief as Belief
    from policymix.beliefs.belief import learn_belief as learn_belief
    from policymix.beliefs.mixture import AbstractMixture as AbstractMixture
    from policymix.core import encoders as encoders
    from policymix.core import errors as errors
    from policymix.core import kernels as kernels
    from policymix.core.encoders import AbstractEncoder as AbstractEncoder
    from policymix.core.kernels import AbstractKernel as AbstractKernel
    from policymix.core.kernels import Gaussian as Gaussian
    from policymix.core.kernels import Indicator as Indicator
    from policymix.core.settings import DEFAULTS as DEFAULTS
    from policymix.core.settings import TABLE_DEFAULTS as TABLE_DEFAULTS
    from policymix.core.settings import Settings as Settings
    from policymix.core.types import Box as Box
    from policymix.core.types import Discrete as Discrete
    from policymix.core.types import TaskSpec as TaskSpec
    from policymix.environments.base import AbstractDomain as AbstractDomain
    from policymix.environments.domain import Domain as Domain
    from policymix.environments.registry import register_domain as register_domain
    from policymix.environments.study import Study as Study
    from policymix.methods import theory as theory
    from policymix.methods.method import Given as Given
    from policymix.methods.method import Method as Method
    from policymix.methods.recipes import register_method as register_method
    from policymix.methods.trust import AbstractTrust as AbstractTrust
    from policymix.reports.compare import Comparison as Comparison
    from policymix.reports.compare import compare as compare
    from policymix.reports.task_check import TaskCheck as TaskCheck
    from policymix.reports.task_check import check as check
    from policymix.sources import dynamics as dynamics
    from policymix.sources import policies as policies
    from policymix.sources.dynamics import LogDensity as LogDensity
    from policymix.sources.experts import SourceTask as SourceTask
    from policymix.sources.fitting.dynamics import fit_dynamics as fit_dynamics
    from policymix.sources.fitting.fit import ModelSettings as ModelSettings
    from policymix.sources.fitting.policy import fit_policy as fit_policy
    from policymix.sources.library import SourceLibrary as SourceLibrary
    from policymix.sources.policies import table_policy as table_policy
    from policymix.sources.simulators import Simulator as Simulator
    from policymix.storage.policy_file import NumPyPolicy as NumPyPolicy
    from policymix.storage.policy_file import load_policy as load_policy
    from policymix.training.agent import TrainedAgent as TrainedAgent
    from policymix.training.check import check_task as check_task
    from policymix.training.loggers import CSVLogger as CSVLogger
    from policymix.training.loggers import TensorBoardLogger as TensorBoardLogger
    from policymix.training.milestone import Milestone as Milestone
    from policymix.training.task import TransferTask as TransferTask
    from policymix.training.task import explore as explore
    from policymix.training.task import load_task as load_task
    from policymix.training.task import prepare as prepare
    from policymix.training.train import Training as Training
    from policymix.training.train import train as train

__version__ = "0.1.0"


def _listed() -> dict[str, tuple[str, str]]:
    """Public name → module and name there, read from the imports above."""
    imports = next(
        node.body
        for node in ast.parse(Path(__file__).read_text("utf-8")).body
        if isinstance(node, ast.If)
    )
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


_HOMES = _listed()
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'policymix' has no attribute {name!r}{_at(name)}")
    module, inner = _HOMES[name]
    home = importlib.import_module(module)
    if hasattr(home, inner):
        return getattr(home, inner)
    return importlib.import_module(f"{module}.{inner}")


def _at(name: str) -> str:
    """Where a name that is not public is at home, for the complaint."""
    root = Path(__file__).parent
    for file in () if name.startswith("_") else root.rglob("*.py"):
        if re.search(rf"^(class|def) {name}\b", file.read_text("utf-8"), re.MULTILINE):
            module = ".".join(file.relative_to(root.parent).with_suffix("").parts)
            return f". Import it from its room: from {module} import {name}"
    return ""


def __dir__() -> list[str]:
    return __all__


if importlib.util.find_spec("gymnasium"):
    from policymix.environments.registry import register_environments

    register_environments()
