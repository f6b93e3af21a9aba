"""Sphinx's settings for the site: the Markdown pages as they are, and the reference of both APIs.

`scripts/site` builds it. Sphinx reads the whole checkout, so that a link leads to what it leads to
there: a page of `SECTIONS`, or a source file, which the site then carries along.
"""

import inspect
import shutil
import sys
from pathlib import Path

from tvm_megcc.core.version import VERSION

sys.path.insert(0, str(Path(__file__).parent))

#: The pages, in the order of the table of contents, by the page that they stand below. One that is
#: nowhere is an error.
SECTIONS = {
    "Start": ["docs/tutorials/first-package", "docs/journeys/README", "docs/journeys/*"],
    "Use": [
        "docs/cli",
        "docs/c-api",
        "docs/reference/c",
        "docs/tvm",
        "docs/plan-memory",
        "docs/reference/python",
        "docs/quantisation",
        "docs/half",
        "docs/language-models",
        "docs/random-numbers",
        "docs/machines",
        "docs/placement",
        "docs/dynamic-shapes",
        "docs/memory",
        "docs/tuning",
        "docs/onnx-operators",
        "docs/kernels",
    ],
    "Understand": [
        "docs/architecture",
        "docs/package-format",
        "docs/performance",
        "docs/measurements/*",
        "docs/memory-models",
        "docs/measuring",
        "docs/adding-an-op",
        "docs/adding-a-kernel",
        "docs/tir-kernels",
        "docs/fuzzing",
        "docs/adr/README",
        "CONTRIBUTING",
        "SECURITY",
        "CHANGELOG",
    ],
}

CONTENTS = {"README": SECTIONS, "docs/adr/README": {"": ["docs/adr/0*"]}}

project = "tvm_megcc"
version = release = VERSION
root_doc = "README"
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = ["[!d]*/", ".*"]  # folders that hold no page

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "c_headers",
]
myst_heading_anchors = 4  # as GitHub names them
highlight_language = "text"  # of blocks that do not say
default_role = "py:obj"  # `name` in a docstring is code, and a link where it is known
autodoc_typehints = "none"  # the signature would repeat what "Parameters" says
autodoc_member_order = "bysource"
napoleon_google_docstring = False

html_theme = "furo"
html_title = "tvm_megcc"
html_copy_source = False


def add_contents(app, docname, source):
    """Tables of contents, which are no part of the pages' text, to the pages that have one."""
    for caption, pages in CONTENTS.get(docname, {}).items():
        options = ":hidden:\n:glob:\n" + (f":caption: {caption}\n" if caption else "")
        listed = "\n".join(f"/{page}" for page in pages)
        source[0] += f"\n\n```{{toctree}}\n{options}\n{listed}\n```\n"


def add_index(app, error):
    """The first page under the name that browsers ask for."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def add_module_text(app, what, name, found, options, lines):
    """What is the whole of its module is described there."""
    if any("see the module's docstring" in line.lower() for line in lines):
        lines[:] = inspect.cleandoc(sys.modules[found.__module__].__doc__).split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", add_module_text, priority=100)  # before napoleon
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_index)
