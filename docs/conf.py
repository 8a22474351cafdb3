"""The documentation site: `make docs`. SUFFICE_DOCS_QUICK=1 leaves the examples unrun."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import suffice

project, author, copyright = "suffice", "the suffice developers", "2026, the suffice developers"
release = version = suffice.__version__
extensions = [
    "myst_parser",
    "public_api",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = [
    "_build",
    "_ext",
    "Thumbs.db",
    "gallery/**.ipynb",
    "gallery/**.py",
    "gallery/**.json",
    "sg_execution_times.rst",
]
nitpicky = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "suffice"
html_static_path = ["_static"]
html_css_files = ["suffice.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_depth": 3,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "plot_gallery": "False" if os.environ.get("SUFFICE_DOCS_QUICK") else "True",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "reset_modules": ("matplotlib", "gallery_style.in_our_style"),
    "image_srcset": ["2x"],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("suffice",),
    "backreferences_dir": None,
    "write_computation_times": False,
}
# what scikit-learn's base classes bring has references to scikit-learn's own pages
FOREIGN = {"get_metadata_routing", "get_params", "set_params", "set_output"}


def skip(app, what, name, obj, skip, options):
    return True if name in FOREIGN or name.endswith("_request") else None


def in_plain_words(app, what, name, obj, options, lines):
    """References to scikit-learn's pages as text; a word like endprob_ in a sentence is no reference either."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            line = re.sub(r":(?:ref|term):`([^<`]*?)(?:\s*<[^>`]*>)?`", r"\1", line)
            lines[i] = re.sub(r"(^|[\s(])([A-Za-z]\w*)_(?=[\s.,;:)]|$)", r"\1\2\\_", line)


def setup(app):
    app.connect("autodoc-process-docstring", in_plain_words)
    app.connect("autodoc-skip-member", skip)
