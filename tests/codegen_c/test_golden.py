"""What emission writes, word for word: a change of it is seen in a diff, and meant.

Without the kernels and the runtime, which are files of the checkout. ``pytest --update-golden
tests/codegen_c/test_golden.py`` takes over what is written now.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tvm import relax

from tests import golden
from tvm_megcc.codegen_c import emit
from tvm_megcc.codegen_c.emit import assemble
from tvm_megcc.codegen_c.tir import emit_prim_func
from tvm_megcc.core.program import Program

from ..runtime import changing, programs
from . import tir_support as ts

op = relax.op

PROGRAMS: dict[str, Callable[[], Program]] = {
    "corners": lambda: programs.corners("portable"),
    "changing": lambda: changing.program(arch="portable"),
}

#: Files of the checkout outside ``src``.
COPIED = ("include/megcc.h", "include/megcc_pool.h", "megcc_pool.c", *assemble.RUNNER)

#: Files that differ in the package's name alone, where architectures are equal.
BUILD = ("CMakeLists.txt", "Makefile")

#: One of each kind of loop that TIR comes as.
FUNCTIONS: dict[str, tuple[Callable[..., relax.Expr], list[tuple[int, ...]]]] = {
    "chain": (lambda x, y: op.exp(op.add(x, y)), [(2, 6), (6,)]),
    "sum": (lambda x: op.sum(x, [1]), [(3, 40)]),
    "softmax": (lambda x: op.nn.softmax(x, -1), [(4, 10)]),
    "argmax": (lambda x: op.argmax(x, 1), [(3, 5)]),
    "sort": (lambda x: op.sort(x, -1), [(2, 7)]),
    "take": (lambda x: op.take(x, relax.const([2, 0], "int64"), 0, mode="clip"), [(3, 4)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden_package(name: str, golden: golden.Check) -> None:
    package = emit.package({"portable": PROGRAMS[name]()}, name=name)
    if name == "corners":
        golden("package_build", {path: str(package[path]) for path in BUILD})
    golden(
        f"package_{name}",
        {
            path: text if isinstance(text, str) else bytes(text).hex("\n", 32)
            for path, text in package.items()
            if not path.startswith("src/") and path not in (*COPIED, *BUILD)
        },
    )


def test_golden_kernels(golden: golden.Check) -> None:
    texts = {}
    for name, (body, shapes) in FUNCTIONS.items():
        found = ts.prim_funcs(ts.legalise(body, shapes, "float32"))
        for number, func in enumerate(found.values()):
            texts[f"{name}{number or ''}.c"] = emit_prim_func(func, f"megcc_{name}").source
    golden("kernels", texts)


def test_golden_tells_what_differs(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    golden.check("a", {"x": "1\n", "y/z": "2\n"}, update=True)
    golden.check("a", {"x": "1\n", "y/z": "2\n"}, update=False)
    for wrong in ({"x": "1\n"}, {"x": "3\n", "y/z": "2\n"}, {"x": "1\n", "y/z": "2\n", "n": "\n"}):
        with pytest.raises(pytest.fail.Exception, match="not what a expects"):
            golden.check("a", wrong, update=False)
    golden.check("a", {"x": "3\n"}, update=True)
    assert not (tmp_path / "a" / "y" / "z").exists()
