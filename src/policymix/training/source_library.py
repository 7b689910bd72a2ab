"""`policymix sources train`: a domain's sources, trained one after the other."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from policymix.core.errors import DomainError
from policymix.core.progress import Begin, silent
from policymix.sources.library import SourceLibrary
from policymix.training.source_facts import library_record, make_library, source_facts
from policymix.training.task import find_domain


def train_library(
    domain_name: str, seed: int = 0, begin: Begin = silent
) -> tuple[SourceLibrary, dict[str, Any]]:
    """Train every source of a domain.

    Args:
        domain_name: of a domain that has sources of its own.
        seed: source i is trained with seed + i.
        begin: reports on the parts of the work.

    Returns:
        The library, and the facts to save with it.
    """
    domain = find_domain(domain_name)
    if domain.library is not None:
        raise DomainError(
            f"{domain.name} uses the sources of {domain.library}. Train those: "
            f"policymix sources train {domain.library}"
        )
    variants = domain.family().sources
    train: Callable[..., Any] = import_module(
        f"policymix.domains.{domain.name}.sources"
    ).train_source
    sources, facts = [], {}
    for offset, (name, variant) in enumerate(variants.items()):
        source, samples = train(name, variant, seed + offset, begin)
        sources.append(source)
        advance = begin(f"{name}: scores", 1, "own score")
        facts[name] = source_facts(domain, source, samples)
        advance(1, facts[name]["own_score"])
    command = f"policymix sources train {domain.name} --seed {seed} --out DIR"
    record = library_record(domain, command, seed, facts)
    return make_library(domain, sources), record
