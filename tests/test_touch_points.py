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

import pytest

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
            "    return dict(emit.package(dict(programs), name=name, weights=weights,",
            "    return dict(emit.package(dict(programs), without_readme=options.without_readme,"
            " name=name, weights=weights,",
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

TOUCHES = (CLI_OPTION, CPU_FEATURE)


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
