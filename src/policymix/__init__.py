"""Learn a new task from several simulators: contextual policy transfer.

Names are loaded when they are first used, so importing the package is quick and does
not start JAX.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policymix.beliefs.belief import Belief as Belief
    from policymix.beliefs.belief import gather_evidence as gather_evidence
    from policymix.beliefs.belief import learn_belief as learn_belief
    from policymix.beliefs.dirichlet import DirichletMixture as DirichletMixture
    from policymix.beliefs.mixture import Evidence as Evidence
    from policymix.beliefs.network import GaussianPrior as GaussianPrior
    from policymix.beliefs.network import LaplacePrior as LaplacePrior
    from policymix.beliefs.network import NetworkMixture as NetworkMixture
    from policymix.beliefs.own_model import OwnNetwork as OwnNetwork
    from policymix.beliefs.own_model import OwnTable as OwnTable
    from policymix.beliefs.own_model import WithOwnModel as WithOwnModel
    from policymix.beliefs.potentials import potential as potential
    from policymix.beliefs.precisions import LearnedPrecision as LearnedPrecision
    from policymix.core.encoders import Clip as Clip
    from policymix.core.encoders import Identity as Identity
    from policymix.core.encoders import OneHot as OneHot
    from policymix.core.encoders import OneHotGrid as OneHotGrid
    from policymix.core.encoders import Standardise as Standardise
    from policymix.core.encoders import standardise as standardise
    from policymix.core.errors import DomainError as DomainError
    from policymix.core.errors import FileFormatError as FileFormatError
    from policymix.core.errors import MissingExtraError as MissingExtraError
    from policymix.core.errors import PolicymixError as PolicymixError
    from policymix.core.errors import SourceError as SourceError
    from policymix.core.kernels import Gaussian as Gaussian
    from policymix.core.kernels import Indicator as Indicator
    from policymix.core.kernels import StudentT as StudentT
    from policymix.core.settings import DEFAULTS as DEFAULTS
    from policymix.core.settings import Settings as Settings
    from policymix.core.types import Box as Box
    from policymix.core.types import Discrete as Discrete
    from policymix.core.types import TaskSpec as TaskSpec
    from policymix.methods.behaviours import Reuse as Reuse
    from policymix.methods.leaders import UCB1 as UCB1
    from policymix.methods.leaders import Gate as Gate
    from policymix.methods.leaders import Softmax as Softmax
    from policymix.methods.method import Given as Given
    from policymix.methods.method import Method as Method
    from policymix.methods.recipes import METHODS as METHODS
    from policymix.methods.recipes import register_method as register_method
    from policymix.methods.theory import value_error_and_bound as value_error_and_bound
    from policymix.sources.dynamics import BoundedDynamics as BoundedDynamics
    from policymix.sources.dynamics import LogDensity as LogDensity
    from policymix.sources.dynamics import NetworkDynamics as NetworkDynamics
    from policymix.sources.dynamics import TableDynamics as TableDynamics
    from policymix.sources.experts import SourceTask as SourceTask
    from policymix.sources.fitting.dynamics import FittedDynamics as FittedDynamics
    from policymix.sources.fitting.dynamics import fit_dynamics as fit_dynamics
    from policymix.sources.fitting.fit import ModelSettings as ModelSettings
    from policymix.sources.fitting.policy import FittedPolicy as FittedPolicy
    from policymix.sources.fitting.policy import fit_policy as fit_policy
    from policymix.sources.library import SourceLibrary as SourceLibrary
    from policymix.sources.policies import GreedyPolicy as GreedyPolicy
    from policymix.sources.policies import TablePolicy as TablePolicy
    from policymix.sources.policies import table_policy as table_policy
    from policymix.sources.simulators import Simulator as Simulator
    from policymix.training.agent import TrainedAgent as TrainedAgent
    from policymix.training.check import Finding as Finding
    from policymix.training.check import check_task as check_task
    from policymix.training.run import TrialError as TrialError
    from policymix.training.task import TransferTask as TransferTask
    from policymix.training.task import explore as explore
    from policymix.training.task import load_task as load_task
    from policymix.training.task import prepare as prepare
    from policymix.training.train import Training as Training
    from policymix.training.train import train as train

__version__ = "0.1.0"

_HOMES = {
    "methods.behaviours": ("Reuse",),
    "methods.leaders": ("UCB1", "Gate", "Softmax"),
    "methods.method": ("Given", "Method"),
    "beliefs.belief": ("Belief", "gather_evidence", "learn_belief"),
    "training.task": ("TransferTask", "explore", "load_task", "prepare"),
    "training.check": ("Finding", "check_task"),
    "beliefs.dirichlet": ("DirichletMixture",),
    "sources.dynamics": (
        "BoundedDynamics",
        "LogDensity",
        "NetworkDynamics",
        "TableDynamics",
    ),
    "core.encoders": (
        *("Clip", "Identity", "OneHot", "OneHotGrid", "Standardise", "standardise"),
    ),
    "core.errors": (
        *("DomainError", "FileFormatError", "MissingExtraError"),
        *("PolicymixError", "SourceError"),
    ),
    "sources.experts": ("SourceTask",),
    "core.kernels": ("Gaussian", "Indicator", "StudentT"),
    "methods.recipes": ("METHODS", "register_method"),
    "beliefs.mixture": ("Evidence",),
    "sources.fitting.dynamics": ("FittedDynamics", "ModelSettings", "fit_dynamics"),
    "beliefs.network": ("GaussianPrior", "LaplacePrior", "NetworkMixture"),
    "beliefs.own_model": ("OwnNetwork", "OwnTable", "WithOwnModel"),
    "sources.policies": ("GreedyPolicy", "TablePolicy", "table_policy"),
    "sources.fitting.policy": ("FittedPolicy", "fit_policy"),
    "beliefs.potentials": ("potential",),
    "beliefs.precisions": ("LearnedPrecision",),
    "core.settings": ("DEFAULTS", "Settings"),
    "sources.simulators": ("Simulator",),
    "sources.library": ("SourceLibrary",),
    "methods.theory": ("value_error_and_bound",),
    "training.agent": ("TrainedAgent",),
    "training.run": ("TrialError",),
    "training.train": ("Training", "train"),
    "core.types": ("Box", "Discrete", "TaskSpec"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'policymix' has no attribute {name!r}")
    from policymix.core.devices import use_every_core

    use_every_core()
    return getattr(importlib.import_module(f"policymix.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__


if importlib.util.find_spec("gymnasium"):
    from policymix.environments.registry import register_environments

    register_environments()
