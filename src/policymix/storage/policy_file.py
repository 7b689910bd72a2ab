"""A learned policy in one file, for machines that act and do not learn.

Reading and acting need NumPy and nothing else; reading executes no code.
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from policymix.core.errors import FileFormatError, PolicymixError
from policymix.storage.folders import RESTORE, read_bytes, write_file

FORMAT, VERSION, BOUNDED = "policymix policy", 1, 2
"""A policy with bounds has a version of its own: who knows only the first would take
the largest component for the best action."""
MAX_POLICY_BYTES = 1 << 28
FACTS_ENTRY = "facts"


class NumPyPolicy:
    """Greedy actions by a table of values, or by a network with ReLU.

    With bounds, outputs of the network are no values of actions: their tanh, brought to
    the bounds, is the action.

    Args:
        facts: `encoder` ("Table", "OneHot", "Identity" or "Standardise"), and where
            the policy comes from.
        arrays: `table`; or `weights.0`, `biases.0`, … and, of Standardise, `centre`
            and `spread`. Of continuous actions `low` and `high` too.
    """

    def __init__(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]):
        self.facts = dict(facts)
        self._arrays, self._encoder = arrays, facts.get("encoder")
        self._depth = sum(name.startswith("weights.") for name in arrays)
        _check(self._encoder, arrays, self._depth)

    @property
    def num_states(self) -> int | None:
        """Where observations are numbers of states; None where they are vectors."""
        if self._encoder == "Table":
            return len(self._arrays["table"])
        return self._inputs if self._encoder == "OneHot" else None

    @property
    def continuous(self) -> bool:
        """Whether actions are vectors."""
        return "low" in self._arrays

    @property
    def _inputs(self) -> int:
        return self._arrays["weights.0"].shape[1]

    def predict(self, obs: Any) -> Any:
        """The action in one state, or an array of them for many states."""
        shape = () if self.num_states else (self._inputs,)
        rows = np.asarray(obs) if self.num_states else np.asarray(obs, np.float32)
        if rows.shape[max(rows.ndim - len(shape), 0) :] != shape or (
            rows.ndim > len(shape) + 1
        ):
            raise PolicymixError(
                f"an observation of shape {rows.shape} was given: this policy acts on "
                f"{shape}, or on rows of that shape"
            )
        values = self.values(rows.reshape(-1, *shape))
        if self.continuous:
            actions = self._bounded(values)
            return actions[0] if rows.shape == shape else actions
        actions = np.argmax(values, axis=1)
        return int(actions[0]) if rows.shape == shape else actions

    def _bounded(self, x: np.ndarray) -> np.ndarray:
        """From any real numbers to actions; rounding may lead out of the bounds."""
        low, high = self._arrays["low"], self._arrays["high"]
        actions = low + 0.5 * (np.tanh(x) + 1.0) * (high - low)
        return np.minimum(np.maximum(actions, low), high)

    def values(self, rows: np.ndarray) -> np.ndarray:
        """What is preferred most: values [rows, actions]; or actions before tanh."""
        count = self.num_states
        if count and not (
            np.issubdtype(rows.dtype, np.integer)
            and np.all((rows >= 0) & (rows < count))
        ):
            raise PolicymixError(f"states of this policy are 0 … {count - 1}")
        if self._encoder == "Table":
            return self._arrays["table"][rows]
        x = self._first(rows)
        for place in range(1, self._depth):
            x = np.maximum(x, 0.0) @ self._arrays[f"weights.{place}"].T
            x += self._arrays[f"biases.{place}"]
        return x

    def _first(self, rows: np.ndarray) -> np.ndarray:
        """The first layer of encoded states; a unit vector picks a column."""
        weight, bias = self._arrays["weights.0"], self._arrays["biases.0"]
        if self._encoder == "OneHot":
            return weight.T[rows] + bias
        if self._encoder == "Standardise":
            rows = (rows - self._arrays["centre"]) / self._arrays["spread"]
        return rows @ weight.T + bias


def _check(encoder: Any, arrays: Mapping[str, np.ndarray], depth: int) -> None:
    """Complain of arrays that are no policy, by a ValueError."""
    names = {"table"} if encoder == "Table" else {"weights.0", "biases.0"}
    for place in range(1, depth):
        names |= {f"weights.{place}", f"biases.{place}"}
    names |= {"centre", "spread"} if encoder == "Standardise" else set()
    names |= {"low", "high"} if "low" in arrays and encoder != "Table" else set()
    if encoder not in ("Table", "OneHot", "Identity", "Standardise"):
        raise ValueError(f"the encoder {encoder!r} is unknown")
    if set(arrays) != names:
        raise ValueError(f"its arrays are {sorted(arrays)}, not {sorted(names)}")
    for name, array in arrays.items():
        flat = name.startswith("biases") or name in ("centre", "spread", "low", "high")
        if array.dtype != np.float32 or array.ndim != 2 - flat or not array.size:
            raise ValueError(f"{name} has the type {array.dtype}{array.shape}")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} holds NaN or infinity")
    sizes = [len(arrays["centre"]), len(arrays["spread"])] if "centre" in arrays else []
    for place in range(depth):
        weight = arrays[f"weights.{place}"]
        if {*sizes} - {weight.shape[1]} or arrays[f"biases.{place}"].shape != (
            len(weight),
        ):
            raise ValueError(f"layer {place} does not fit the one before it")
        sizes = [len(weight)]
    if "low" in arrays:
        _check_bounds(arrays["low"], arrays["high"], sizes)


def _check_bounds(low: np.ndarray, high: np.ndarray, sizes: list[int]) -> None:
    if [len(low)] != sizes or [len(high)] != sizes:
        raise ValueError(f"{len(low)} and {len(high)} bounds of {sizes[0]} components")
    with np.errstate(over="ignore"):
        if not np.all((low < high) & np.isfinite(high - low)):
            raise ValueError("its bounds hold no actions")


def _version_of(arrays: Mapping[str, np.ndarray]) -> int:
    return BOUNDED if "low" in arrays else VERSION


def write_policy(path: Path, policy: NumPyPolicy) -> None:
    """Write or replace the file."""
    facts = {**policy.facts, "format": FORMAT, "version": _version_of(policy._arrays)}
    content = io.BytesIO()
    told = {FACTS_ENTRY: np.array(json.dumps(facts, sort_keys=True))}
    entries: dict[str, Any] = {**told, **policy._arrays}
    np.savez(content, **entries)
    write_file(path, content.getvalue())


def load_policy(path: str | Path) -> NumPyPolicy:
    """Read what `agent.export` wrote; only NumPy is needed, and no code is executed.

    Args:
        path: of the file.
    """
    path = Path(path)
    content = read_bytes(path, MAX_POLICY_BYTES)
    try:
        arrays = _unzipped(content)
        facts = json.loads(str(arrays.pop(FACTS_ENTRY)))
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise ValueError(f"it is no {FORMAT}")
        version = _version_of(arrays)
        if facts.get("version") != version:
            raise ValueError(f"version {facts.get('version')!r} is not {version}")
        return NumPyPolicy(facts, arrays)
    except (ValueError, LookupError, OSError, EOFError, MemoryError) as error:
        problem = f"no policy ({error})"
    except (RecursionError, zipfile.BadZipFile, NotImplementedError, SyntaxError) as e:
        problem = f"no policy ({e})"
    raise FileFormatError(path, "file", problem, RESTORE)


def _unzipped(content: bytes) -> dict[str, np.ndarray]:
    """All arrays, if they are no more than what is read of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = math.fsum(entry.file_size for entry in archive.infolist())
        if size > MAX_POLICY_BYTES:
            raise ValueError(f"{size:.0f} bytes unpacked")
    kept = np.load(io.BytesIO(content))  # objects are refused, as NumPy does by itself
    return {name: np.asarray(kept[name]) for name in kept.files}
