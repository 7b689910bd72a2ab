"""The user's own code: a file or a module that registers things or defines a task."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from policymix.core.errors import PolicymixError, UsageError, did_you_mean

_RUN: list[str] = []


def was_run() -> tuple[str, ...]:
    """Files and modules that were executed in this process: workers need them too."""
    return tuple(_RUN)


def run_own_code(place: str, option: str = "--load ") -> ModuleType:
    """Execute a Python file, or import a module: whatever it registers is known then.

    Like a script, a file can import what lies beside it.

    Args:
        place: the file, or the module's name.
        option: what it was given to, for complaints.
    """
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        near = [str(other) for other in path.parent.glob("*.py")]
        guess = did_you_mean(place, near)
        raise UsageError(f"{option}{place}: there is no such file.{guess}")
    try:
        found = _file(path) if path.suffix == ".py" else _module(place)
        _RUN.append(place)
        return found
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == place:
            raise UsageError(
                f"{option}{place}: there is no such module. Give the file, as in "
                f"{option}{place}.py, or install the package that has it"
            ) from None
        raise PolicymixError(
            f"{option}{place}: your own code stopped at {where(error, path)}:\n"
            f"{traceback.format_exception_only(error)[-1].strip()}"
        ) from error


def run_again(places: Iterable[str], task: str) -> None:
    """In a worker: execute what its driver has, once.

    Args:
        places: what the driver has executed.
        task: where the task is, whose own code is executed when it is loaded.
    """
    for place in places:
        if place not in (*_RUN, code_of(task)):
            run_own_code(place)


def _file(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    """Also one that lies where the command is typed, as `python -m` finds it."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


def is_own_code(place: str) -> bool:
    """Whether a place is `my_task.py`, `my_task.py:name` or `module:name`."""
    code, _, name = place.rpartition(":")
    return place.endswith(".py") or (bool(code) and name.isidentifier())


def code_of(place: str) -> str:
    """The file or the module of `my_task.py`, `my_task.py:name` or `module:name`."""
    return place if place.endswith(".py") else place.rpartition(":")[0]


def own_value(place: str, otherwise: str) -> Any:
    """What a user's own code defines; what is a plain function is called.

    Args:
        place: `my_task.py`, `my_task.py:name` or `module:name`.
        otherwise: the name, where the place has none.
    """
    code = code_of(place)
    name = otherwise if code == place else place.rpartition(":")[2]
    module = run_own_code(code, "")
    if not hasattr(module, name):
        guess = did_you_mean(name, vars(module))
        raise UsageError(
            f"{code} defines no {name!r}.{guess} Write {name} = … in it, or give the "
            f"name that it has there, as in {code}:my_{name}"
        )
    value = getattr(module, name)
    if not callable(value):
        return value
    try:
        return value()
    except Exception as error:
        raise PolicymixError(
            f"{code}: {name}() stopped at {where(error, Path(code))}:\n"
            f"{traceback.format_exception_only(error)[-1].strip()}"
        ) from error


def where(error: BaseException, path: Path) -> str:
    """The last line of the user's file that was reached, else of any."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if Path(frame.filename).resolve() == path.resolve()
    ]
    last = (own or frames)[-1]
    return f"{last.filename}, line {last.lineno}"
