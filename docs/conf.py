"""How the documentation is built: `make docs`."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "policymix"
author = "The policymix authors"
copyright = "the policymix authors, MIT licence"
version = release = version_of("policymix")
language = "en-GB"
smartquotes_action = "D"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "command_line",
    "external",
    "kinds",
    "published",
    "repository_links",
    "signatures",
]
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!policymix\.\w+$).*")]
"""Docstrings and signatures also name what only the source has, or other libraries."""

add_module_names = False
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "special-members": "__call__",
}
autodoc_mock_imports = ["stable_baselines3", "torch"]
"""The bridges are described without them."""
autodoc_preserve_defaults = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 68

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "policymix"
html_static_path = ["_static"]
html_css_files = ["policymix.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5a8a",
        "color-brand-content": "#1f5a8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8ab8de",
        "color-brand-content": "#8ab8de",
    },
}
