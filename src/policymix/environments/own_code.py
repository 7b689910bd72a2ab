"""The user's own code: a file or a module that registers methods and domains."""

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path

from policymix.core.errors import PolicymixError, UsageError, did_you_mean


def run_own_code(place: str) -> None:
    """Execute a Python file, or import a module: whatever it registers is known then.

    Like a script, a file can import what lies beside it.
    """
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        near = [str(other) for other in path.parent.glob("*.py")]
        guess = did_you_mean(place, near)
        raise UsageError(f"--load {place}: there is no such file.{guess}")
    try:
        if path.suffix == ".py":
            sys.path.insert(0, str(path.resolve().parent))
            spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[module.__name__] = module
            spec.loader.exec_module(module)
        else:
            importlib.import_module(place)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == place:
            raise UsageError(
                f"--load {place}: there is no such module. Give the file, as in "
                f"--load {place}.py, or install the package that has it"
            ) from None
        raise PolicymixError(
            f"--load {place}: your own code stopped at {where(error, path)}:\n"
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
