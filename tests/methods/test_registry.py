"""Methods by name: registered by the user, or offered by an installed package."""

import sys

import pytest

from policymix.core.errors import PolicymixError
from policymix.methods.method import Method
from policymix.methods.names import method_names
from policymix.methods.recipes import (
    METHODS,
    find_recipe,
    recipes,
    register_method,
)
from policymix.training.train import train

from support.probes import MIXED, QUICK


def mine(given):
    return Method()


@pytest.fixture(autouse=True)
def _same_methods_afterwards(monkeypatch):
    """What a test registers is gone after it."""
    shipped = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(shipped)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package on the path that offers two methods, one of which cannot be loaded."""
    home = tmp_path / "offering-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\n")
    (home / "entry_points.txt").write_text(
        "[policymix.methods]\n"
        "from-a-package = offering:recipe\n"
        "broken = offering:nothing\n"
        "mars = offering:recipe\n"
    )
    (tmp_path / "offering.py").write_text(
        "from policymix.methods.method import Method\n"
        "def recipe(given):\n"
        "    return Method()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("offering", None)


def test_a_registered_method_is_found_and_trained_by_its_name():
    register_method("my-method", mine)
    assert find_recipe("my-method", 2) is mine
    assert "my-method" in method_names()
    assert "my-method" in recipes(2)
    rows = train(MIXED, "my-method", steps=100, settings=QUICK, progress=False).rows
    assert {row.method for row in rows} == {"my-method"}


@pytest.mark.parametrize("name", ["mars", "phi1", "phi12"])
def test_a_taken_name_is_refused(name):
    with pytest.raises(PolicymixError, match=f"name '{name}' is taken: choose another"):
        register_method(name, mine)
    assert find_recipe("mars", 2) is not mine


@pytest.mark.parametrize(
    "name", ["", "My-Method", "my_method", "my method", "-my", "1"]
)
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(PolicymixError, match=r'no name for a method.*"my-method"'):
        register_method(name, mine)
    assert name not in METHODS


@pytest.mark.usefixtures("installed")
def test_a_package_is_loaded_only_when_its_method_is_asked_for():
    assert "from-a-package" in method_names()
    find_recipe("mars", 2)
    assert "offering" not in sys.modules
    recipe = find_recipe("from-a-package", 2)
    assert recipe is sys.modules["offering"].recipe
    assert find_recipe("from-a-package", 2) is recipe is METHODS["from-a-package"]


@pytest.mark.usefixtures("installed")
def test_a_package_does_not_replace_a_shipped_method():
    shipped = METHODS["mars"]
    assert find_recipe("mars", 2) is shipped
    assert method_names().count("mars") == 1


@pytest.mark.usefixtures("installed")
def test_a_method_that_cannot_be_loaded_names_its_package():
    with pytest.raises(
        PolicymixError,
        match=r"'broken' of offering .*AttributeError.*remove that package",
    ):
        find_recipe("broken", 2)


@pytest.mark.usefixtures("installed")
def test_a_misspelt_name_is_guessed_among_offered_ones():
    with pytest.raises(PolicymixError, match="Did you mean 'from-a-package'"):
        find_recipe("from-package", 2)
