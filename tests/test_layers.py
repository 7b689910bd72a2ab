"""A module imports only from lower layers, and nothing heavy loads with the package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import policymix

ROOT = Path(policymix.__file__).parent
LAYERS = (
    {"types", "errors", "registration", "devices", "settings"},
    {"files", "records", "networks", "encoders", "kernels", "descent", "replay"}
    | {"progress"},
    {"domains"},
    {"policies", "dynamics", "mixture", "precisions", "theory", "vector_tasks"}
    | {"spaces", "simulators", "host_functions"},
    {"experts", "network_mixture", "dirichlet_mixture", "own_model", "potentials"}
    | {"own_targets"},
    {"source_checks", "dynamics_fitting", "episodes", "agents", "behaviours"}
    | {"foreign"},
    {"sources", "source_policies", "methods", "transition_data"},
    {"scaling"},
    {"catalogue", "belief", "trial"},
    {"libraries", "model_fitting", "lockstep", "problems"},
    {"checks", "compiled_loop", "host_loop", "trained", "policy_fitting"},
    {"training"},
    {"runs"},
    {"experiments"},
    {"reports"},
    {"reproduction"},
    {"commands", "demo", "bench_contests", "bridges", "argument_rules", "manual"},
    {"bench_contestants", "usage"},
    {"bench"},
    {"arguments"},
    {"cli", "__init__"},
    {"__main__"},
)
LAYER = {module: depth for depth, layer in enumerate(LAYERS) for module in layer}
FILES = sorted(ROOT.rglob("*.py"))


def module_of(file):
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(file):
    """First parts of all `policymix.…` names that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "policymix" and len(parts) > 1:
                yield parts[1]


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_a_module_imports_only_from_lower_layers(file):
    module = module_of(file)
    assert module in LAYER, f"give {module} a layer"
    for imported in set(imports_of(file)) & set(LAYER):
        if imported != module:
            assert LAYER[imported] < LAYER[module], f"{module} imports {imported}"


def test_every_layer_names_modules_that_exist():
    assert {module_of(file) for file in FILES} == set(LAYER)


def test_the_rule_can_fail(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(
        "from policymix.beliefs.mixture import Evidence\n"
        "import policymix.sources.library"
    )
    assert set(imports_of(file)) >= {"mixture", "sources"}
    assert LAYER["mixture"] > LAYER["kernels"]


FORBIDDEN = {
    "pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "yaml",
    "eval",
    "exec",
}


def names_used(file):
    """Every name, import and keyword in a file's code (not in its comments)."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            yield "pickle"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_no_file_can_execute_what_it_loads(file):
    assert not FORBIDDEN & set(names_used(file))


@pytest.mark.parametrize("statement", ["import policymix", "import policymix.cli.main"])
def test_import_loads_nothing_heavy(statement):
    heavy = ("jax", "scipy", "matplotlib", "equinox", "torch")
    code = f"import sys; {statement}; print([m for m in {heavy} if m in sys.modules])"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == "[]"


def test_every_public_name_loads():
    for name in policymix.__all__:
        value = getattr(policymix, name)
        assert name.isupper() or value.__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = policymix.nonsense
