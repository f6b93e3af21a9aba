"""Sums of a product are rounded once where a function says so, on machines without fma, too."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from onnx import parser
from tvm import relax

from tvm_megcc import driver
from tvm_megcc.codegen_c.tir import FUSED, emit_prim_func

from .tir_support import call, compile_c, legalise, prim_funcs

op = relax.op
#: Compiler, flags; the first has no instruction for it.
BUILDS = {
    "plain": ("gcc", ["-O2", "-ffp-contract=off"]),
    "fma": ("gcc", ["-O2", "-march=haswell"]),
    "clang": ("clang", ["-O2"]),
}
#: A function of a, b and c; by how much a and c are multiplied.
FORMS = {
    "a * b + c": (lambda a, b, c: op.add(op.multiply(a, b), c), 1, 1),
    "c + a * b": (lambda a, b, c: op.add(c, op.multiply(a, b)), 1, 1),
    "a * b - c": (lambda a, b, c: op.subtract(op.multiply(a, b), c), 1, -1),
    "c - a * b": (lambda a, b, c: op.subtract(c, op.multiply(a, b)), -1, 1),
}
COUNT = 500


def rounded(a: float, b: float, c: float) -> np.float32:
    """The exact a * b + c, rounded to the nearest."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = np.float32(float(exact))
    around = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    return min(around, key=lambda v: (abs(Fraction(float(v)) - exact), v.view("i4") & 1))


def triples() -> tuple[np.ndarray, ...]:
    """Numbers whose product and sum nearly cancel here and there."""
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(COUNT).astype("f4") for _ in range(3))
    c[::3] = (-a * b)[::3]
    return a, b, c


@pytest.mark.parametrize("build", BUILDS)
def test_fused_products_are_rounded_once(build: str, tmp_path: Path) -> None:
    compiler, flags = BUILDS[build]
    a, b, c = triples()
    for text, (form, by_a, by_c) in FORMS.items():
        mod = legalise(form, [(COUNT,)] * 3, "float32")
        (func,) = prim_funcs(mod).values()
        kernel = emit_prim_func(func.with_attr(FUSED, True), "megcc_tir_fused")
        assert "megcc_fma" in kernel.source and "megcc_fma" not in emit_prim_func(func).source
        given, found = {"x0": a, "x1": b, "x2": c}, np.empty(COUNT, "f4")
        operands = [given[str(p.name)] for p in func.params[:3]]
        call(compile_c(kernel, tmp_path, compiler, flags), kernel, [*operands, found])
        want = [rounded(by_a * p, q, by_c * r) for p, q, r in zip(a, b, c, strict=True)]
        np.testing.assert_array_equal(found, np.array(want, "f4"), err_msg=text)


@pytest.mark.parametrize("measures", [True, False])
def test_models_that_measure_ranges_fuse_on_all_machines(measures: bool, tmp_path: Path) -> None:
    quantised = "q, s, z = DynamicQuantizeLinear(t)" if measures else "q = Identity(t)"
    kind = "uint8" if measures else "float"
    model = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[4, 8] x, float[4, 8] g, float[4, 8] h) => ({kind}[4, 8] q) {{
            m = Mul(x, g) t = Add(m, h) {quantised}
        }}""")
    driver.compile_model(model, tmp_path / "pkg", archs=["portable"])
    sources = [path.read_text() for path in (tmp_path / "pkg/src/kernels").rglob("*.c")]
    assert any("megcc_fma" in text for text in sources) == measures
