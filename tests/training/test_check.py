"""A sound task passes; each way of being unsound is found, with a remedy."""

from dataclasses import replace

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import pytest

from policymix.core.errors import DomainError
from policymix.domains.cartpole.task import CartPole
from policymix.environments.base import Family
from policymix.environments.registry import find_domain
from policymix.training.check import check_task
from policymix.training.task import fitting, load_task


def unsound(task):
    return [finding for finding in check_task(task) if not finding.sound]


def with_source(task, **changes):
    """The task with its first source changed; unchecked, as a bad file would be."""
    first, *others = task.sources.sources
    changed = first
    for field, value in changes.items():
        changed = eqx.tree_at(lambda s, f=field: getattr(s, f), changed, value)
    return replace(task, sources=replace(task.sources, sources=(changed, *others)))


@pytest.fixture(scope="module")
def task():
    return load_task("cartpole")


@pytest.mark.learning
@pytest.mark.parametrize("name", ["maze", "cartpole"])
def test_shipped_tasks_are_sound(name):
    assert unsound(load_task(name)) == []


def test_a_model_that_predicts_no_change_is_found(task):
    (finding,) = unsound(with_source(task, dynamics=lambda obs, action: obs))
    assert finding.question.startswith("rough: dynamics better than")
    assert "Fit the model" in finding.remedy


def test_non_finite_predictions_are_found(task):
    broken = with_source(task, dynamics=lambda obs, action: jnp.log(obs - 1))
    findings = unsound(broken)
    assert any("rough: legal" in f.question and "NaN" in f.detail for f in findings)


def test_illegal_actions_are_found(task):
    findings = unsound(with_source(task, policy=lambda obs: 4))
    assert any("action 4" in f.detail for f in findings)


def test_other_spaces_are_found(task):
    family = task.domain.family()
    sources = {**family.sources, "rough": CartPole(fractions=(-1.0, 1.0))}
    domain = replace(task.domain, family=lambda: Family("x", family.target, sources))
    questions = [f.question for f in unsound(replace(task, target=domain))]
    assert questions[0] == "rough: spaces of its task equal the target's"


class Restless(gymnasium.Wrapper):
    """Takes no notice of the seed."""

    def reset(self, *, seed=None, options=None):
        return self.env.reset(options=options)


def make_restless():
    return Restless(gymnasium.make("policymix/TransferCartPole-v0"))


def test_a_task_that_ignores_its_seed_is_found(task):
    sources = task.domain.family().sources
    domain = replace(task.domain, family=lambda: Family("x", make_restless, sources))
    questions = [f.question for f in unsound(replace(task, target=domain))]
    assert questions == ["target: the same seed gives the same episodes"]


def test_a_library_of_another_domain_is_refused(tmp_path):
    cartpole = load_task("cartpole")
    cartpole.sources.save(tmp_path / "lib", cartpole.facts)
    with pytest.raises(DomainError, match=r"'cartpole', not for 'maze'.*right domain"):
        fitting(find_domain("maze"), cartpole.sources, cartpole.facts, "lib")


def test_a_library_that_lies_about_its_domain_is_refused(tmp_path):
    cartpole = load_task("cartpole")
    cartpole.sources.save(tmp_path / "lib", {**cartpole.facts, "domain": "maze"})
    with pytest.raises(DomainError, match="spaces differ"):
        load_task(tmp_path / "lib")


def test_unknown_domains_are_answered_with_a_guess():
    with pytest.raises(DomainError, match="Did you mean 'cartpole'"):
        load_task("cartpol")
