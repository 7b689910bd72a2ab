"""Signatures as the source has them: short names, readable shapes, plain defaults.

At run time `Float[Array, " n"]` is a class with a long name, an alias has been replaced
by what it stands for, and a default is an array. The source says it better.
"""

import ast
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


class Readable(ast.NodeTransformer):
    """Annotations without quotes, shapes without padding, numbers as scalars."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`Float[Array, " n"]` becomes `Float[Array, "n"]`; without axes, `Scalar`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        shape = parts[-1] if len(parts) == 2 else None
        if not isinstance(shape, ast.Constant) or not isinstance(shape.value, str):
            return self.generic_visit(node)
        shape.value = shape.value.strip()
        if shape.value == "" and ast.unparse(node.value) == "Float":
            return ast.Name("Scalar")
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A name in quotes, because it is defined further down, loses them."""
        if isinstance(node.value, str) and node.value.isidentifier():
            return ast.Name(node.value)
        return node


def readable(annotation: ast.expr) -> ast.expr:
    """An annotation as a reader wants it."""
    return Readable().visit(annotation)


def definition(thing: Any) -> Any:
    """The syntax tree of a class or function."""
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def of_function(function: Callable, bound: bool) -> tuple[str, str | None]:
    """Arguments and result; `bound` leaves out self or cls."""
    tree = definition(function)
    arguments: ast.arguments = tree.args
    every = [
        *(arguments.posonlyargs + arguments.args + arguments.kwonlyargs),
        *(part for part in (arguments.vararg, arguments.kwarg) if part),
    ]
    for argument in every:
        if argument.annotation:
            argument.annotation = readable(argument.annotation)
    if bound:
        del arguments.args[0]
    returns = ast.unparse(readable(tree.returns)) if tree.returns else None
    return f"({ast.unparse(arguments)})", returns


def written_fields(cls: type) -> Iterator[ast.AnnAssign]:
    """Fields as they are written, those of the bases first."""
    fields: dict[str, ast.AnnAssign] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("policymix"):
            for line in definition(base).body:
                if isinstance(line, ast.AnnAssign):
                    fields[ast.unparse(line.target)] = line
    yield from fields.values()


def default_of(value: ast.expr | None) -> str:
    """The default of a field, also where `field(default=…)` hides it."""
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("field"):
        given = {word.arg: ast.unparse(word.value) for word in value.keywords}
        if "default_factory" in given:
            return f" = {given['default_factory']}()"
        return f" = {given['default']}" if "default" in given else ""
    return f" = {ast.unparse(value)}"


def of_class(cls: type) -> str | None:
    """Arguments of a class: those of its `__init__`, or its fields."""
    for base in cls.__mro__:
        init = vars(base).get("__init__")
        if isinstance(init, FunctionType) and "policymix" in init.__code__.co_filename:
            return of_function(init, bound=True)[0]
        if dataclasses.is_dataclass(base) or hasattr(base, "_fields"):
            fields = (
                f"{ast.unparse(line.target)}: {ast.unparse(readable(line.annotation))}"
                f"{default_of(line.value)}"
                for line in written_fields(cls)
                if "ClassVar" not in ast.unparse(line.annotation)
            )
            return f"({', '.join(fields)})"
    return None


def process_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, *_: Any
) -> tuple[str | None, str | None] | None:
    """Arguments and result; none where the fields are listed below."""
    del app, name
    if what in ("class", "exception"):
        for field in getattr(thing, "_fields", ()):
            vars(thing)[field].__doc__ = None  # "Alias for field number 0"
        return "" if options.undoc_members else of_class(thing), None
    plain = inspect.unwrap(getattr(thing, "__func__", thing))
    if not isinstance(plain, FunctionType):
        return None
    return of_function(plain, bound=what == "method")


def quote_twice(app: Sphinx, doctree: nodes.document) -> None:
    """Strings in signatures with the quotes that the source has."""
    del app
    for node in doctree.findall(addnodes.desc_sig_literal_string):
        text = json.dumps(ast.literal_eval(node.astext()), ensure_ascii=False)
        node.children = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("autodoc-process-signature", process_signature)
    app.connect("doctree-read", quote_twice)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
