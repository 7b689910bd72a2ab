"""Learn a new task from several simulators: contextual policy transfer.

Names are loaded when they are first used, so importing the package is quick and does
not start JAX.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policymix.behaviours import Arms as Arms
    from policymix.behaviours import Reuse as Reuse
    from policymix.belief import Belief as Belief
    from policymix.belief import gather_evidence as gather_evidence
    from policymix.belief import learn_belief as learn_belief
    from policymix.catalogue import TransferTask as TransferTask
    from policymix.catalogue import explore as explore
    from policymix.catalogue import load_task as load_task
    from policymix.checks import Finding as Finding
    from policymix.checks import check_task as check_task
    from policymix.dirichlet_mixture import DirichletMixture as DirichletMixture
    from policymix.dynamics import BoundedDynamics as BoundedDynamics
    from policymix.dynamics import LogDensity as LogDensity
    from policymix.dynamics import NetworkDynamics as NetworkDynamics
    from policymix.dynamics import TableDynamics as TableDynamics
    from policymix.encoders import Clip as Clip
    from policymix.encoders import Identity as Identity
    from policymix.encoders import OneHot as OneHot
    from policymix.encoders import OneHotGrid as OneHotGrid
    from policymix.encoders import Standardise as Standardise
    from policymix.encoders import standardise as standardise
    from policymix.errors import DomainError as DomainError
    from policymix.errors import FileFormatError as FileFormatError
    from policymix.errors import MissingExtraError as MissingExtraError
    from policymix.errors import PolicymixError as PolicymixError
    from policymix.errors import SourceError as SourceError
    from policymix.experts import SourceTask as SourceTask
    from policymix.kernels import Gaussian as Gaussian
    from policymix.kernels import Indicator as Indicator
    from policymix.kernels import StudentT as StudentT
    from policymix.methods import METHODS as METHODS
    from policymix.methods import Given as Given
    from policymix.methods import Method as Method
    from policymix.mixture import Evidence as Evidence
    from policymix.model_fitting import FittedDynamics as FittedDynamics
    from policymix.model_fitting import ModelSettings as ModelSettings
    from policymix.model_fitting import fit_dynamics as fit_dynamics
    from policymix.network_mixture import GaussianPrior as GaussianPrior
    from policymix.network_mixture import LaplacePrior as LaplacePrior
    from policymix.network_mixture import NetworkMixture as NetworkMixture
    from policymix.own_model import OwnNetwork as OwnNetwork
    from policymix.own_model import OwnTable as OwnTable
    from policymix.own_model import WithOwnModel as WithOwnModel
    from policymix.policies import GreedyPolicy as GreedyPolicy
    from policymix.policies import TablePolicy as TablePolicy
    from policymix.policies import table_policy as table_policy
    from policymix.policy_fitting import FittedPolicy as FittedPolicy
    from policymix.policy_fitting import fit_policy as fit_policy
    from policymix.potentials import potential as potential
    from policymix.precisions import LearnedPrecision as LearnedPrecision
    from policymix.settings import PAPER as PAPER
    from policymix.settings import Settings as Settings
    from policymix.simulators import Simulator as Simulator
    from policymix.sources import SourceLibrary as SourceLibrary
    from policymix.theory import value_error_and_bound as value_error_and_bound
    from policymix.trained import TrainedAgent as TrainedAgent
    from policymix.training import Training as Training
    from policymix.training import TrialError as TrialError
    from policymix.training import train as train
    from policymix.types import Box as Box
    from policymix.types import Discrete as Discrete
    from policymix.types import TaskSpec as TaskSpec

__version__ = "0.1.0"

_HOMES = {
    "behaviours": ("Arms", "Reuse"),
    "belief": ("Belief", "gather_evidence", "learn_belief"),
    "catalogue": ("TransferTask", "explore", "load_task"),
    "checks": ("Finding", "check_task"),
    "dirichlet_mixture": ("DirichletMixture",),
    "dynamics": ("BoundedDynamics", "LogDensity", "NetworkDynamics", "TableDynamics"),
    "encoders": (
        *("Clip", "Identity", "OneHot", "OneHotGrid", "Standardise", "standardise"),
    ),
    "errors": (
        *("DomainError", "FileFormatError", "MissingExtraError"),
        *("PolicymixError", "SourceError"),
    ),
    "experts": ("SourceTask",),
    "kernels": ("Gaussian", "Indicator", "StudentT"),
    "methods": ("METHODS", "Given", "Method"),
    "mixture": ("Evidence",),
    "model_fitting": ("FittedDynamics", "ModelSettings", "fit_dynamics"),
    "network_mixture": ("GaussianPrior", "LaplacePrior", "NetworkMixture"),
    "own_model": ("OwnNetwork", "OwnTable", "WithOwnModel"),
    "policies": ("GreedyPolicy", "TablePolicy", "table_policy"),
    "policy_fitting": ("FittedPolicy", "fit_policy"),
    "potentials": ("potential",),
    "precisions": ("LearnedPrecision",),
    "settings": ("PAPER", "Settings"),
    "simulators": ("Simulator",),
    "sources": ("SourceLibrary",),
    "theory": ("value_error_and_bound",),
    "trained": ("TrainedAgent",),
    "training": ("Training", "TrialError", "train"),
    "types": ("Box", "Discrete", "TaskSpec"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'policymix' has no attribute {name!r}")
    from policymix.devices import use_every_core

    use_every_core()
    return getattr(importlib.import_module(f"policymix.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__


if importlib.util.find_spec("gymnasium"):
    from policymix.registration import register_environments

    register_environments()
