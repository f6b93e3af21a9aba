"""`scripts/plant` plants what it says, takes it away again, and names the test that finds it."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from .test_scripts import ROOT, load

faults = load("plant_faults")

PYTHON = """
def f(a: "1 < 2", rows):
    if a < len(rows) and a is not None:
        return rows[1:-1] if a == 3 else g(a, rows)
    if a > 4:
        raise ValueError(f"{a - rows} " "1 < 2")
    return a + 1 - rows // a
"""
C = """
// a < b, and 1 + 1
#if A < B
static int f(int a, const int *b) {
  if (a == 0 || b[a] < 2) {
    return a - b[1];
  }
  for (int i = 0; i < a + 1; ++i) say("i < 1 - a");
  return a ? b[0] : a;
}
"""


def changes(path: str, text: str) -> set[tuple[str, str, str]]:
    return {(f.kind, f.before, f.after) for f in faults.faults(path, text)}


def test_python_faults() -> None:
    assert changes("a.py", PYTHON) == {
        (faults.TURNED, "a < len(rows)", "a >= len(rows)"),
        (faults.BOUND, "a < len(rows)", "a <= len(rows)"),
        (faults.TURNED, "a is not None", "a is None"),
        (faults.GUARD, "a < len(rows) and a is not None", "(a is not None)"),
        (
            faults.GUARD,
            "a < len(rows) and a is not None",
            "False and (a < len(rows) and a is not None)",
        ),
        (faults.BOUND, "rows[1:-1]", "rows[2:-1]"),
        (faults.BOUND, "rows[1:-1]", "rows[1:-2]"),
        (faults.TURNED, "a == 3", "a != 3"),
        (
            faults.SWAPPED,
            "rows[1:-1] if a == 3 else g(a, rows)",
            "(g(a, rows)) if a == 3 else (rows[1:-1])",
        ),
        (faults.SWAPPED, "g(a, rows)", "g(rows, a)"),
        (faults.TURNED, "a > 4", "a <= 4"),
        (faults.BOUND, "a > 4", "a >= 4"),
        (faults.GUARD, "a > 4", "False and (a > 4)"),
        (faults.SWAPPED, "a + 1 - rows // a", "(rows // a) - (a + 1)"),
        (faults.BOUND, "a + 1", "a + 2"),
        (faults.SWAPPED, "rows // a", "(a) // (rows)"),
    }


def test_c_faults() -> None:
    assert changes("a.c", C) == {
        (faults.TURNED, "==", "!="),
        (faults.TURNED, "<", ">="),
        (faults.BOUND, "<", "<="),
        (faults.GUARD, "a == 0 || b[a] < 2", "0 && (a == 0 || b[a] < 2)"),
        (faults.SWAPPED, "a - b[1]", "b[1] - a"),
        (faults.BOUND, "1", "2"),
        (faults.SWAPPED, "b[0] : a", "a : b[0]"),
    }


@pytest.mark.parametrize(
    "path, text",
    [
        ("a.py", "x = a if a < b - 2 else b - 2\n"),
        ("a.py", "x = b if a <= b else a\n"),
        ("a.c", "  int x = a - 2 < b ? a - 2 : b;\n"),
        ("a.c", "  return f(a <= b[1] ? b[1] : a);\n"),
        ("a.c", "  if (a > b[1]) b[1] = a;\n"),
        ("a.c", "  if (a > b[1]) {\n a = b[1]; }\n"),
    ],
)
def test_smaller_and_larger(path: str, text: str) -> None:
    """Of two that are equal either is the smaller: the bound may have the `=` or not."""
    assert faults.BOUND not in {kind for kind, _, _ in changes(path, text)}
    for other in (text.replace("b", "c", 1), text.replace("a", "c", 1)):
        assert faults.BOUND in {kind for kind, _, _ in changes(path, other)}


def test_faults_are_one_place() -> None:
    (fault,) = (f for f in faults.faults("a.py", "y = 'é' * (x - 1)  # - 1\n"))
    assert fault.planted("y = 'é' * (x - 1)  # - 1\n") == "y = 'é' * (x - 2)  # - 1\n"
    assert str(fault) == "a.py:1: bound off by one: `x - 1` -> `x - 2`"


def test_draws_follow_the_seed_and_spread() -> None:
    paths = [*ROOT.glob("tvm_megcc/dims/*.py"), *ROOT.glob("tvm_megcc/memory/*.*")]
    paths += [*ROOT.glob("runtime/src/*.c"), *ROOT.glob("tvm_megcc/core/*.py")]
    texts = {str(p.relative_to(ROOT)): p.read_text() for p in paths if p.suffix in (".py", ".c")}
    drawn = faults.first(texts, 3, 18)
    assert drawn[:7] == faults.first(texts, 3, 7) != faults.first(texts, 4, 7)
    assert [f.path.endswith(".c") for f in drawn] == [n % 3 == 0 for n in range(1, 19)]
    assert {faults.room(f.path) for f in drawn} == {
        "tvm_megcc/dims", "tvm_megcc/memory", "tvm_megcc/core", "runtime",
    }  # fmt: skip
    assert {f.kind for f in drawn} == set(faults.KINDS) and len(set(drawn)) == 18
    for fault in drawn:
        planted = fault.planted(texts[fault.path])
        assert planted != texts[fault.path]
        if fault.path.endswith(".py"):
            ast.parse(planted)


def test_draws_of_other_rooms_stay() -> None:
    """What is known of the faults of a seed is not lost by an edit elsewhere."""
    texts = {f"tvm_megcc/{name}/a.py": PYTHON for name in "abcdef"}
    texts |= {"runtime/src/a.c": C, "codegen_c/kernels/a.c": C}
    before, edited = faults.first(texts, 1, 30), "tvm_megcc/c/a.py"
    after = faults.first({**texts, edited: PYTHON.replace("a > 4", "a in rows")}, 1, 30)
    assert before != after
    assert [f for f in before if f.path != edited] == [f for f in after if f.path != edited]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one room of two functions, of which its own tests know one."""
    root = tmp_path / "checkout"
    files = {
        "tvm_megcc/__init__.py": "",
        "tvm_megcc/dims/__init__.py": "def less(a, b):\n    return a < b\n",
        "tests/dims/test_dims.py": "def test_broken():\n    assert False\n",
        "tests/test_all.py": "from tvm_megcc.dims import less\n\n"
        "def test_less():\n    assert less(1, 2) and not less(2, 1)\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "pytest.ini").write_text("[pytest]\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


@pytest.mark.slow
def test_who_finds_what(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two faults one is `a <= b`, which nobody looks at. The room's own test fails anyway."""
    plant, work = load("plant"), tmp_path / "work"
    command = ["--count", "2", "--work", str(work), "--wanted", "2", "--", "-p", "no:cacheprovider"]
    assert plant.main(command, checkout) == 1
    said = capsys.readouterr().out
    assert "`a < b` -> `a >= b`: tests/test_all.py::test_less (" in said
    assert "`a < b` -> `a <= b`: found by nobody (" in said
    assert "left out, it fails without a fault: tests/dims/test_dims.py::test_broken" in said
    assert "1 of 2 found, 0 not tried" in said
    module = "tvm_megcc/dims/__init__.py"
    assert (work / "tree" / module).read_text() == (checkout / module).read_text()
    # What is known is not tried again; with no time left the rest stays untried.
    assert plant.main(command, checkout) == 1
    again = capsys.readouterr().out
    assert "found by nobody" not in again and "1 of 2 found, 0 not tried" in again
    more = ["--minutes", "1e-9", "--retry", *command]
    assert plant.main(more, checkout) == 1
    assert "1 of 2 found, 1 not tried" in capsys.readouterr().out
