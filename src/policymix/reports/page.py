"""A report as one HTML file that opens anywhere, offline and without a server."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATE = Path(__file__).parent / "template"
CHARTS = "vendor/uplot"
"""The library that draws the charts; a page carries its licence too."""
SCRIPTS = ("basics.js", "charts.js", "methods.js", "belief.js", "report.js")
"""Parts of the page's own script, in order."""


def render(data: dict[str, Any]) -> str:
    """The page for a report's data: style, script and data are all inside it.

    Names in the data are text wherever they appear, never markup or code.

    Args:
        data: plain lists, dicts, strings and numbers, as the template reads them; a
            number that is missing is None.

    Raises:
        jinja2.UndefinedError: a key that the template reads is missing.
        ValueError: a number is infinite or not a number.
    """
    style = _read(f"{CHARTS}/uPlot.min.css", "report.css")
    licence = f"/*! uPlot\n\n{_read(f'{CHARTS}/LICENSE')}*/\n"
    script = licence + _read(f"{CHARTS}/uPlot.iife.min.js", *SCRIPTS)
    return (
        _pages()
        .get_template("report.html.j2")
        .render(data=data, style=style, script=script, policy=_policy(style, script))
    )


def _read(*names: str) -> str:
    """Files of the template, one after the other."""
    return "".join((TEMPLATE / name).read_text("utf-8") + "\n" for name in names)


def _pages() -> Environment:
    """Templates that escape what they are given and fail on what they are not."""
    pages = Environment(
        loader=FileSystemLoader(TEMPLATE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return pages


def _policy(style: str, script: str) -> str:
    """What the page may load: nothing but this style, this script and inline images."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    """The name under which a content security policy allows an inline text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
