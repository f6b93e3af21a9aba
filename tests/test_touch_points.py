"""How many files a contributor touches for a change of a common kind, done in a copy of the tree.

A `Touch` is a row of `TOUCHES`: the edits, how many files they may be in, and a function that shows
with the copy's own modules that the change works. Tests and generated pages are not counted.
"""

from __future__ import annotations

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

TOUCHES = (CLI_OPTION,)


@pytest.mark.slow
@pytest.mark.parametrize("touch", TOUCHES, ids=lambda touch: touch.name)
def test_touch_points_a_change_is_in_few_files(touch: Touch, tmp_path: Path) -> None:
    copy = tmp_path / "tree"
    for folder in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for edit in touch.edits:
        path = copy / edit.path
        text = path.read_text() if path.exists() else ""
        assert edit.old in text, f"{edit.path} has no {edit.old!r}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(edit.old, edit.new, 1) if text else edit.new)
    assert len({edit.path for edit in touch.edits}) <= touch.most
    with Compiler(Tree("the copy", copy, "")) as compiler:
        touch.works(compiler, tmp_path)
