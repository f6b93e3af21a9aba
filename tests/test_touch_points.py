"""How many files a contributor touches for a change of a common kind, done in a copy of the tree.

A `Touch` is a row of `TOUCHES`: the edits, how many files they may be in, and a function that shows
with the copy's own modules that the change works. Tests and generated pages are not counted.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc import zoo

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from source_trees import PACKAGES, Compiler, Tree  # noqa: E402


@dataclass(frozen=True)
class Edit:
    """In the file `path`, `new` stands in place of `old`; a file without `old` is a new one."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Touch:
    """A change of a kind.

    Attributes
    ----------
    name : str
    most : int
        In how many files it may be.
    edits : tuple of Edit
    works : callable
        Called with the copy's compiler and a folder; asserts that the change does what it should.
    """

    name: str
    most: int
    edits: tuple[Edit, ...]
    works: Callable[[Compiler, Path], None]


def files_of(package: Path) -> set[str]:
    return {str(p.relative_to(package)) for p in package.rglob("*") if p.is_file()}


FIELD = """
from pathlib import Path
import sys
from tvm_megcc import driver
from tvm_megcc.options import CompileOptions
assert not CompileOptions().without_readme
driver.compile_model(sys.argv[1], sys.argv[2], CompileOptions(["portable"], without_readme=True))
driver.compile_model(sys.argv[1], sys.argv[3], archs=["portable"], without_readme=True)
"""


def cli_option_works(compiler: Compiler, folder: Path) -> None:
    said = " ".join(compiler.run("-m", "tvm_megcc", "compile", "--help").split())
    assert "--without-readme leave the README out of the package" in said
    model = folder / "m.onnx"
    model.write_bytes(zoo.build("tiny_mlp").SerializeToString())
    arguments = [str(model), "--arch", "portable", "-o"]
    assert not compiler.compile([*arguments, str(folder / "plain")])
    assert not compiler.compile([*arguments, str(folder / "by_option"), "--without-readme"])
    compiler.run("-c", FIELD, str(model), str(folder / "by_field"), str(folder / "by_keyword"))
    plain = files_of(folder / "plain")
    for name in ("by_option", "by_field", "by_keyword"):
        assert plain - files_of(folder / name) == {"README.md"}, name


#: A field, an argument of the command line, and the room that acts, which hears of it by `driver`.
CLI_OPTION = Touch(
    "cli option",
    4,
    (
        Edit(
            "tvm_megcc/options.py",
            "    stepping: bool = False\n",
            "    stepping: bool = False\n    without_readme: bool = False\n",
        ),
        Edit(
            "tvm_megcc/options.py",
            "    compiler : str, optional\n",
            "    without_readme : bool\n        Whether the package has no README.\n"
            "    compiler : str, optional\n",
        ),
        Edit(
            "tvm_megcc/cli/compile.py",
            "    options.add_compiler(parser)\n",
            "    parser.add_argument(\n"
            '        "--without-readme",\n'
            '        action="store_true",\n'
            '        help="leave the README out of the package",\n'
            "    )\n"
            "    options.add_compiler(parser)\n",
        ),
        Edit(
            "tvm_megcc/driver.py",
            "        stepping=stepping,\n",
            "        stepping=stepping,\n        without_readme=options.without_readme,\n",
        ),
        Edit(
            "codegen_c/emit/assemble.py",
            "    stepping: bool = False,\n",
            "    stepping: bool = False,\n    without_readme: bool = False,\n",
        ),
        Edit(
            "codegen_c/emit/assemble.py",
            '    out["README.md"] = ',
            '    if not without_readme:\n        out["README.md"] = ',
        ),
    ),
    cli_option_works,
)

BUILD_AND_RUN = """
import json
import sys
from pathlib import Path
from tvm_megcc.core.this_machine import is_native, is_own_family
from tvm_megcc.host import toolchain
package = Path(sys.argv[1])
if is_own_family("x86"):
    exe = toolchain.build(package, "x86+gfni")
    manifest = json.loads((package / "manifest.json").read_text())
    for arch in filter(is_native, ("x86", "x86+gfni")):
        toolchain.run_package(exe, arch, {}, manifest)
"""


def cpu_feature_works(compiler: Compiler, folder: Path) -> None:
    model = folder / "m.onnx"
    model.write_bytes(zoo.build("tiny_mlp").SerializeToString())
    package = folder / "package"
    assert not compiler.compile([str(model), "--arch", "x86,x86+gfni", "-o", str(package)])
    rows = json.loads((package / "manifest.json").read_text())["per_arch"]
    assert not any("gfni" in name for name in rows["x86"]["kernels"])
    assert any("matmul_f32_row_gfni" in name for name in rows["x86+gfni"]["kernels"])
    assert "x86+gfni: a CPU with gfni" in (package / "README.md").read_text()
    assert "-mgfni" in (package / "Makefile").read_text()
    compiler.run("-c", BUILD_AND_RUN, str(package))


#: Of the machines' table, for instructions that only kernels use which ask for them; with the bit
#: of the CPU in a word that no other feature is read from. Where HWCAP, or CPUID 1:ECX and 7:EBX,
#: has the bit, `megcc_machine.c` stays.
CPU_FEATURE = Touch(
    "cpu feature",
    5,
    (
        Edit(
            "tvm_megcc/core/machine.py",
            """                "avxvnni", ("avxvnni",),""",
            """                "gfni", ("gfni",), ("gfni",), ("-mgfni",), ("__GFNI__",),
                (0, 1 << 2),
            ),
            Feature(
                "avxvnni", ("avxvnni",),""",
        ),
        Edit(
            "runtime/src/megcc_machine.c",
            "word[1] = (b & ~3u) | (c >> 11 & 1u);",
            "word[1] = (b & ~7u) | (c >> 11 & 1u) | (c >> 8 & 1u) << 2;",
        ),
        Edit(
            "codegen_c/include/gemm/megcc_gemm_gfni.h",
            "",
            """// Products by GFNI.
#ifndef __GFNI__
#error "compile with -mgfni"
#endif
""",
        ),
        Edit(
            "codegen_c/kernels/matmul/matmul_row.c",
            "// kernel: matmul_f16_row ",
            """// kernel: matmul_f32_row_gfni arch=x86 isa=gfni dtype=f32 rank=26
//   tolerance=2e-6 NR=16 include=gemm/megcc_gemm_gfni.h
// kernel: matmul_f16_row """,
        ),
        Edit(
            "docs/machines.md",
            "`avx2` (with FMA and F16C), ",
            "`avx2` (with FMA and F16C), `gfni`, ",
        ),
    ),
    cpu_feature_works,
)

MAXIMUM_ROW = """\
    row("QLinearMax", "Maximum of the real values", Composite, labels=broadcast(0, 3),
        alike=((0, 2, 3, 5, 7),), expand=lambda ctx, inputs, attrs: quantised(
            ctx, ctx.emit(relax.op.maximum(real(ctx, inputs, 0), real(ctx, inputs, 3))),
            inputs, 6, inputs.dtype(0))),
"""

MAXIMUM_ANCHOR = '''\
"""qmaximum: the larger of two 8-bit tensors, quantised again.

quantize(maximum(dequantize(a), dequantize(b)))
"""

from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import product
from tvm_megcc.fuse.request import Anchor, Request
from tvm_megcc.fuse.rescale import limits, quantised
from tvm_megcc.relax_tools.exprs import dtype_of, step_of


def anchors():
    parts, sides = {}, []
    for side in "ab":
        parts[side] = wildcard()
        sides.append(is_op("relax.dequantize")(parts[side], is_const(), is_const()))
        parts[f"{side}_real"] = sides[-1]
    pattern = is_op("relax.maximum")(*sides)
    yield Anchor("qmaximum", pattern, parts, _maximum, (quantised,), tuple(sides))


def _maximum(parts, tail):
    shape = parts.shape_of(parts["root"])
    held = None if tail.stored is None else limits(tail)
    if shape is None or held is None:
        return None
    facts = {"size": product(shape), "y_scale": float(held[0]), **held[1]}
    for side in "ab":
        step = step_of(parts[f"{side}_real"])
        if step is None or parts.shape_of(parts[side]) != shape:
            return None
        if dtype_of(parts[side]) not in EIGHT_BITS:
            return None
        facts |= {f"{side}_scale": float(step[0]), f"{side}_zero": step[1]}
    return Request("qmaximum", facts, {side: parts[side] for side in "ab"})
'''

MAXIMUM_CONTRACT = """\
// op qmaximum: the larger of the real numbers that two tensors of 8 bits stand for.
//
//   in    a: A [size]
//   in    b: B [size]
//   out   y: Y [size]
//
// With v the larger one of (a - A_ZERO) * A_SCALE and (b - B_ZERO) * B_SCALE, y is round(v /
// Y_SCALE) + Y_ZERO within LOW..HIGH, halves to even.
#ifndef MEGCC_OP_QMAXIMUM_H
#define MEGCC_OP_QMAXIMUM_H
enum {
  QMAXIMUM_SIZE,
  QMAXIMUM_A_ZERO,
  QMAXIMUM_B_ZERO,
  QMAXIMUM_A_SCALE,  // float bits
  QMAXIMUM_B_SCALE,
  QMAXIMUM_Y_SCALE,
  QMAXIMUM_Y_ZERO,
  QMAXIMUM_LOW,
  QMAXIMUM_HIGH,
  QMAXIMUM_ATTRS
};
#endif  // MEGCC_OP_QMAXIMUM_H
"""

MAXIMUM_KERNEL = """\
// kernel: qmaximum_ref
// op: qmaximum
// dtype: a=i8,u8 b=i8,u8 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: A=A B=B Y=Y
// work: size
// cost: 24
//
// One element after the other.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/qmaximum.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmaximum_ref
#endif
#ifndef A
#define A i8
#endif
#ifndef B
#define B i8
#endif
#ifndef Y
#define Y i8
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(A) *a = ptr[0];
  const MEGCC_CTYPE(B) *b = ptr[1];
  MEGCC_CTYPE(Y) *y = ptr[2];
  const float size = megcc_attr_f32(attr[QMAXIMUM_Y_SCALE]);
  (void)workspace;
  for (int32_t k = begin; k < end; ++k) {
    const float left =
        (float)(a[k] - attr[QMAXIMUM_A_ZERO]) * megcc_attr_f32(attr[QMAXIMUM_A_SCALE]);
    const float right =
        (float)(b[k] - attr[QMAXIMUM_B_ZERO]) * megcc_attr_f32(attr[QMAXIMUM_B_SCALE]);
    int32_t v = (int32_t)megcc_roundf((left > right ? left : right) / size);
    v += attr[QMAXIMUM_Y_ZERO];
    v = v > attr[QMAXIMUM_LOW] ? v : attr[QMAXIMUM_LOW];
    y[k] = (MEGCC_CTYPE(Y))(v < attr[QMAXIMUM_HIGH] ? v : attr[QMAXIMUM_HIGH]);
  }
}
"""

RUN_MAXIMUM = """
from pathlib import Path
import sys
import numpy as np
from tvm_megcc.host import package, toolchain
opened = package.load(Path(sys.argv[1]))
arch = opened.choose("portable")
exe = toolchain.build(opened.path, arch, build_dir=Path(sys.argv[2]))
a, b = np.array([[0, 9, 200, 255]], np.uint8), np.array([[5, 9, 30, 0]], np.uint8)
found = toolchain.run_package(exe, arch, {"a": a, "b": b}, opened.manifest).outputs["y"]
want = np.rint(np.maximum((a - 3.0) * 0.5, (b - 7.0) * 2.0)) + 10
np.testing.assert_array_equal(found, np.clip(want, 0, 255).astype(np.uint8))
"""


def fused_operator_works(compiler: Compiler, folder: Path) -> None:
    scales = {"sa": 0.5, "sb": 2.0, "sy": 1.0}
    zeros = {"za": 3, "zb": 7, "zy": 10}
    weights = [numpy_helper.from_array(np.float32(v), k) for k, v in scales.items()]
    weights += [numpy_helper.from_array(np.uint8(v), k) for k, v in zeros.items()]
    names = ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"]
    node = helper.make_node("QLinearMax", names, ["y"], domain="com.microsoft")
    a, b, y = (helper.make_tensor_value_info(n, TensorProto.UINT8, [1, 4]) for n in "aby")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(
        helper.make_graph([node], "g", [a, b], [y], weights), opset_imports=opsets, ir_version=9
    )
    model, package = folder / "m.onnx", folder / "package"
    model.write_bytes(proto.SerializeToString())
    assert not compiler.compile([str(model), "--arch", "portable", "-o", str(package)])
    calls = (package / "manifest.json").read_text()
    assert "qmaximum_ref" in calls
    if shutil.which("gcc"):
        compiler.run("-c", RUN_MAXIMUM, str(package), str(folder / "build"))


#: A row for the importer, an anchor with its line in the catalogue, the contract and a kernel.
FUSED_OPERATOR = Touch(
    "fused 8-bit operator",
    5,
    (
        Edit(
            "tvm_megcc/ops/com_microsoft/qlinear.py",
            '    row("QLinearConcat",',
            MAXIMUM_ROW + '    row("QLinearConcat",',
        ),
        Edit("tvm_megcc/fuse/quantised_maximum.py", "", MAXIMUM_ANCHOR),
        Edit(
            "tvm_megcc/fuse/catalogue.py",
            "    quantised_binary,\n",
            "    quantised_binary,\n    quantised_maximum,\n",
        ),
        Edit(
            "tvm_megcc/fuse/catalogue.py",
            " quantised_binary, ",
            " quantised_binary, quantised_maximum, ",
        ),
        Edit("codegen_c/include/op/qmaximum.h", "", MAXIMUM_CONTRACT),
        Edit("codegen_c/kernels/qmaximum/qmaximum_ref.c", "", MAXIMUM_KERNEL),
    ),
    fused_operator_works,
)

TOUCHES = (CLI_OPTION, CPU_FEATURE, FUSED_OPERATOR)


@pytest.mark.slow
@pytest.mark.parametrize("touch", TOUCHES, ids=lambda touch: touch.name)
def test_touch_points_a_change_is_in_few_files(touch: Touch, tmp_path: Path) -> None:
    copy = tmp_path / "tree"
    for folder in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for edit in touch.edits:
        path = copy / edit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / edit.path).exists() and not path.exists():  # in no package, as docs/
            shutil.copy(ROOT / edit.path, path)
        text = path.read_text() if path.exists() else ""
        assert edit.old in text, f"{edit.path} has no {edit.old!r}"
        path.write_text(text.replace(edit.old, edit.new, 1) if text else edit.new)
    assert len({edit.path for edit in touch.edits}) <= touch.most
    with Compiler(Tree("the copy", copy, "")) as compiler:
        touch.works(compiler, tmp_path)
