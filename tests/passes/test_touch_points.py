"""A new pass is three files: its own, the list of the pipeline, and the public front."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PASS = '''"""DoubleNegation: ``negative(negative(x))`` is ``x``."""

from __future__ import annotations

from tvm import relax

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass


@rewriting_pass("tvm_megcc.DoubleNegation", clean=True)
class DoubleNegation(Rewriter):
    """See the module's docstring."""

    @on("relax.negative")
    def _twice(self, call: relax.Call) -> relax.Expr:
        inner = bound(self, call.args[0])
        return inner.args[0] if op_name(inner) == "relax.negative" else call
'''

#: File -> (text, the text in its place).
CHANGES = {
    "tvm_megcc/passes/__init__.py": [
        (
            "from tvm_megcc.passes.expand_quantised",
            "from tvm_megcc.passes.double_negation import DoubleNegation\n"
            "from tvm_megcc.passes.expand_quantised",
        ),
        (
            "                ReadSizes(),",
            "                DoubleNegation(),\n                ReadSizes(),",
        ),
    ],
    "tvm_megcc/transform.py": [
        (
            "    DepthwiseMultiples,\n    ExpandQuantised,",
            "    DepthwiseMultiples,\n    DoubleNegation,\n    ExpandQuantised,",
        ),
        ('"ExpandQuantised", ', '"DoubleNegation", "ExpandQuantised", '),
    ],
}

USE = """
from pathlib import Path
from tvm import relax
from tests.passes.support import build, operators
import tvm_megcc
from tvm_megcc import transform
from tvm_megcc.passes import stages

mod = build(lambda x: relax.op.exp(relax.op.negative(relax.op.negative(x))), (2, 3))
assert tvm_megcc.__file__.startswith(str(Path.cwd()))
assert transform.DoubleNegation().info.name == "tvm_megcc.DoubleNegation"
assert operators(transform.DoubleNegation()(mod)) == ["relax.exp"]
assert operators(stages("portable")["canonicalise"](mod)) == ["relax.exp"]
"""


@pytest.mark.slow
def test_a_new_pass_touches_three_files(tmp_path: Path) -> None:
    for folder in ("tvm_megcc", "codegen_c", "runtime", "tests/passes"):
        ignored = shutil.ignore_patterns("__pycache__", "*.o", "*.so")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "tests/__init__.py").touch()
    shutil.copy(ROOT / "tests/tvm_target.py", tmp_path / "tests")
    (tmp_path / "tvm_megcc/passes/double_negation.py").write_text(PASS)
    for name, pairs in CHANGES.items():
        text = (tmp_path / name).read_text()
        for old, new in pairs:
            assert old in text, f"{name}: {old}"
            text = text.replace(old, new, 1)
        (tmp_path / name).write_text(text)
    assert len(CHANGES) + 1 == 3
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
