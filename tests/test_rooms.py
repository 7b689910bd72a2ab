"""The house: a room imports from lower floors only, and a name means one thing.

Each rule is one test that names all who break it.
"""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import policymix

ROOT = Path(policymix.__file__).parent
FLOORS = (
    {"core"},
    {"storage", "environments"},
    {"sources"},
    {"beliefs"},
    {"methods", "agents"},
    {"training"},
    {"domains"},
    {"experiments"},
    {"reports", "bridges"},
    {"cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MAY_IMPORT = {
    room: {lower for lower in FLOOR if FLOOR[lower] < floor}
    for room, floor in FLOOR.items()
}
MAY_IMPORT["bridges"] = {room for room in FLOOR if FLOOR[room] <= FLOOR["agents"]}
"""A bridge serves the methods alone: no training, no domain, no experiment."""

FILES = {
    ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    ): file
    for file in sorted(ROOT.rglob("*.py"))
}
"""Every module of the package, by its full name."""


@cache
def tree_of(file):
    return ast.parse(file.read_text("utf-8"))


def imports_of(file):
    """All `policymix.…` names that a file imports, wherever it does."""
    for node in ast.walk(tree_of(file)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name for name in names if name.startswith("policymix."))


def rooms_of(names):
    return set(FLOOR) & {name.split(".")[1] for name in names if "." in name}


def module_of(name, modules):
    """The module that an imported name is, or is defined in."""
    while name not in modules:
        name = name.rpartition(".")[0]
    return name


def circular(graph):
    """Imports that lead back to where they stand."""

    def reached(start):
        found, ahead = set(), [start]
        while ahead:
            new = graph.get(ahead.pop(), set()) - found
            found |= new
            ahead += new
        return found

    lead = {module: reached(module) for module in graph}
    edges = ((one, other) for one, others in graph.items() for other in others)
    return sorted(f"{a} imports {b}" for a, b in edges if a in lead.get(b, ()))


def public_names(file):
    """Classes, functions and constants that a module defines for others."""
    for node in tree_of(file).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        yield from (t.id for t in targets if isinstance(t, ast.Name) and t.id.isupper())


def home_of(module):
    """A module; folders of domains are alike, so their files count as one each."""
    parts = module.split(".")
    if parts[1:2] == ["domains"] and len(parts) > 3:
        parts[2] = "*"
    return ".".join(parts)


def defined_twice(files):
    homes = defaultdict(set)
    for module, file in files.items():
        for name in public_names(file):
            if not name.startswith("_") and len(name) > 1:  # T is a letter
                homes[name].add(home_of(module))
    return [
        f"{n}: {' '.join(sorted(h))}" for n, h in sorted(homes.items()) if len(h) > 1
    ]


def long_functions(file, limit):
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > limit:
                yield f"{node.name} ({length})"


def nobody(offenders):
    """All of them are told, not only the first."""
    found = list(offenders)
    assert not found, "\n" + "\n".join(found)


def test_the_root_holds_only_the_door_and_rooms():
    inside = {path.name for path in ROOT.iterdir()} - {"__pycache__"}
    assert inside - set(FLOOR) == {"__init__.py", "__main__.py", "py.typed"}
    assert set(FLOOR) <= inside
    assert len(FLOORS) <= 10


def test_a_room_imports_only_from_lower_floors():
    nobody(
        f"{module} imports {other}"
        for module, file in FILES.items()
        for room in rooms_of([module])
        for other in rooms_of(imports_of(file)) - MAY_IMPORT[room] - {room}
    )


def test_the_rule_of_floors_can_fail(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(
        "from policymix.beliefs.mixture import Evidence\n"
        "def late():\n"
        "    import policymix.sources.library\n"
    )
    assert rooms_of(imports_of(file)) == {"beliefs", "sources"}
    assert not rooms_of(imports_of(file)) & MAY_IMPORT["core"]


def test_no_import_leads_back():
    nobody(
        circular(
            {
                module: {module_of(name, FILES) for name in imports_of(file)}
                - {module, "policymix"}
                for module, file in FILES.items()
            }
        )
    )
    made = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circular(made) == ["a imports b", "b imports c", "c imports a"]


def test_a_module_fits_in_three_hundred_lines():
    lines = {m: len(f.read_text("utf-8").splitlines()) for m, f in FILES.items()}
    nobody(f"{module}: {count}" for module, count in lines.items() if count > 300)


def test_a_function_fits_on_a_page_of_sixty_lines(tmp_path):
    nobody(f"{m}: {long}" for m, f in FILES.items() for long in long_functions(f, 60))
    made = tmp_path / "made.py"
    made.write_text("def short():\n    pass\n\n\ndef long():\n" + "    pass\n" * 60)
    assert list(long_functions(made, 60)) == ["long (61)"]


REGISTRY = "policymix.environments.registry"


def test_only_the_registry_knows_a_domain_by_name():
    nobody(
        f"{module}: {name}"
        for module, file in FILES.items()
        if "domains" not in rooms_of([module]) and module != REGISTRY
        for name in ("maze", "cartpole", "lander", "inventory", "acrobot")
        if name in file.read_text("utf-8")
    )


def test_a_room_says_what_lives_there_and_what_it_imports():
    offenders = []
    for room in FLOOR:
        told = ast.get_docstring(tree_of(ROOT / room / "__init__.py")) or ""
        if len(told.split()) < 12 or "import" not in told.lower():
            offenders.append(f"{room}: say what lives there and what it may import")
        files = [f for m, f in FILES.items() if room in rooms_of([m])]
        used = set().union(*(rooms_of(imports_of(file)) for file in files)) - {room}
        unnamed = used - set(re.findall(r"\w+", told))
        offenders += [f"{room} imports {other} unnamed" for other in sorted(unnamed)]
    nobody(offenders)


def test_a_name_means_one_thing(tmp_path):
    nobody(defined_twice(FILES))
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("LIMIT = 3\n_own = 1\n\n\ndef check():\n    pass\n")
    other.write_text("LIMIT: int = 4\n_own = 1\n\n\nclass Check:\n    check = 1\n")
    assert defined_twice({"one": one, "other": other}) == ["LIMIT: one other"]


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
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            yield "pickle"


def test_no_file_can_execute_what_it_loads():
    nobody(
        f"{module}: {name}"
        for module, file in FILES.items()
        for name in FORBIDDEN & set(names_used(file))
    )


def test_import_loads_nothing_heavy():
    heavy = ("jax", "scipy", "matplotlib", "equinox", "torch")
    for statement in ("import policymix", "import policymix.cli.main"):
        code = (
            f"import sys; {statement}; print([m for m in {heavy} if m in sys.modules])"
        )
        printed = subprocess.check_output([sys.executable, "-c", code], text=True)
        assert printed.strip() == "[]", statement


def test_touching_names_starts_no_jax():
    """Nor does it change a setting: using every core is asked for by calls."""
    code = (
        "import policymix, jax; from jax._src import xla_bridge;"
        "before = dict(jax.config.values);"
        "[getattr(policymix, name) for name in policymix.__all__];"
        "print(xla_bridge.backends_are_initialized(), before == jax.config.values)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == "False True"


def test_every_public_name_loads():
    for name in policymix.__all__:
        value = getattr(policymix, name)
        assert name.isupper() or value.__name__.split(".")[-1] == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = policymix.nonsense
