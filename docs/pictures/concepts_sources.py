"""Pictures of docs/concepts/sources.md: kernels, and what coverage adds."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from strip import push, strip_sources

import policymix as pm
from policymix.reports.palette import BLUE, GREEN, VERMILLION
from policymix.sources.dynamics import CoveredDynamics


class Kernels(NamedTuple):
    """Log-likelihoods of errors."""

    errors: np.ndarray
    curves: dict[str, np.ndarray]


def kernels() -> Kernels:
    """Two precisions, and heavy tails."""
    errors = np.linspace(0, 0.5, 101)

    def curve(kernel: Callable) -> np.ndarray:
        zero = jnp.zeros(1)
        values = jax.vmap(lambda error: kernel(zero, error[None]))(jnp.array(errors))
        return np.asarray(values)

    return Kernels(
        errors,
        {
            "Gaussian(50)": curve(pm.Gaussian(50.0)),
            "Gaussian(500)": curve(pm.Gaussian(500.0)),
            "StudentT(500)": curve(pm.kernels.StudentT(500.0)),
        },
    )


class Coverage(NamedTuple):
    """Two models of the same physics, with and without what they have seen."""

    places: np.ndarray
    alone: np.ndarray
    covered: np.ndarray


def coverage() -> Coverage:
    """Both are right everywhere; each has seen one half of the strip only."""
    places = jnp.linspace(-1, 1, 201)[:, None]
    seen = np.linspace(-1, 0, 51, dtype=np.float32)[:, None]
    spec, kernel = strip_sources().spec, pm.Gaussian(50.0, normalised=False)

    def judged(models: Iterable[Callable]) -> np.ndarray:
        sources = [
            pm.SourceTask(name, lambda obs: 0, model, kernel)
            for name, model in zip(("left", "right"), models, strict=True)
        ]
        library = pm.SourceLibrary(sources, spec)
        right = jnp.ones(len(places), int)
        likely = jax.vmap(library.log_likelihoods)(places, right, places + 0.5)
        return np.asarray(likely)

    physics = push(0.5)
    halves = (seen, seen + 1.0)
    covered = [
        CoveredDynamics(physics, pm.encoders.Identity(), jnp.asarray(half))
        for half in halves
    ]
    return Coverage(
        np.asarray(places[:, 0]), judged([physics, physics]), judged(covered)
    )


def draw_kernels() -> Figure:
    """Kernels above, coverage below."""
    shapes, seen = kernels(), coverage()
    figure = Figure(figsize=(4.5, 5.0), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    looks = ((BLUE, "-"), (VERMILLION, "-"), (VERMILLION, "--"))
    for (name, curve), (colour, dash) in zip(shapes.curves.items(), looks, strict=True):
        top.plot(shapes.errors, curve, color=colour, ls=dash, label=name)
    top.set(ylim=(-22, 4), xlabel="error of the prediction, r", ylabel="log ρ(r)")
    top.set_title("What an error costs")
    top.legend(loc="lower right")
    for name, colour, curve in zip(
        ("has seen the left", "has seen the right"),
        (GREEN, VERMILLION),
        seen.covered.T,
        strict=True,
    ):
        bottom.plot(seen.places, curve, color=colour, label=name)
    bottom.plot(seen.places, seen.alone[:, 0], color="0.3", ls=":", label="model alone")
    bottom.set(xlabel="place on the strip", ylabel="log-likelihood", ylim=(-52, 6))
    bottom.set_title("The same right model, with coverage")
    bottom.legend(loc="lower center")
    return figure


PICTURES = {
    "concepts-kernels": draw_kernels,
}
