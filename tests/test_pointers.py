"""Files and modules that comments, docstrings and pages name are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: What is named and is not there, and why.
ABSENT = {
    "runtime/c_backend_api.h": "TVM's own header",
    "codegen_c/kernels/conv2d/conv2d_nhwc_f32_f2x2.c": "the file that a walk of the docs writes",
    "codegen_c/include/simd/megcc_simd_rvv.h": "an example of a header for other vectors",
    "memory.view": "R.memory.view of Relax",
}

_PATH = re.compile(
    r"(?<![\w/])((?:tvm_megcc|codegen_c|runtime|scripts|docs)/[\w/.-]+\.(?:py|c|h|def|md))\b"
)
#: Ends of names that are files, not modules: `core.c`, `report.html`.
_ENDINGS = {"c", "h", "html", "css", "js", "json", "npz", "so", "md"}
_DOTTED = re.compile(r"`([a-z]\w*(?:\.[a-z]\w*)+)(?:\(\))?`")


def tracked() -> list[Path]:
    """Text files of the project, but for tests and the changelog, which speaks of the past."""
    patterns = ["tvm_megcc", "codegen_c", "runtime", "scripts", "docs", "*.md"]
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = (name for name in listed.stdout.split("\n") if name and name != "CHANGELOG.md")
    return [ROOT / name for name in names if not name.startswith("docs/adr/")]


def missing(text: str) -> list[str]:
    """The paths and the dotted names of our rooms in a text that lead nowhere."""
    found = [p for p in _PATH.findall(text) if p not in ABSENT and not (ROOT / p).exists()]
    for name in _DOTTED.findall(text):
        if name in ABSENT or name.split(".")[-1] in _ENDINGS:
            continue
        room, *rest = name.removeprefix("tvm_megcc.").split(".")
        folder = next((d for d in (ROOT / "tvm_megcc" / room, ROOT / room) if d.is_dir()), None)
        if folder is None or room in ("scripts", "tests", "docs") or not rest:
            continue
        if not _leads_somewhere(folder, rest):
            found.append(name)
    return found


def _leads_somewhere(folder: Path, names: list[str]) -> bool:
    """Whether a module below a room has this name, or some module on the way mentions it."""
    for i, name in enumerate(names):
        if (folder / name).is_dir():
            folder = folder / name
            continue
        module = folder / f"{name}.py"
        if module.is_file():
            rest = names[i + 1 :]
            return not rest or rest[0] in module.read_text(encoding="utf-8")
        init = folder / "__init__.py"  # a name that the room itself has
        known = init.is_file() and re.search(rf"\b{name}\b", init.read_text(encoding="utf-8"))
        return bool(known)
    return True


def test_what_is_named_is_there() -> None:
    wrong = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in missing(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("`codegen_c/emit/bytecode.py`", 0),
        ("see codegen_c/emit/nothing.py", 1),
        ("`passes.equal_dims`", 1),
        ("`dispatch.equal_dims` and `tvm_megcc.dispatch.equal_dims`", 0),
        ("`kernels.registry.select`", 0),
        ("`kernels.registry.nothing_of_the_kind`", 1),
        ("`numpy.savez`", 0),
    ],
)
def test_a_pointer_that_leads_nowhere_is_found(text: str, count: int) -> None:
    assert len(missing(text)) == count
