"""No innermost loop of a generated kernel divides indices, which would take most of its time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tvm_megcc import driver, zoo

#: A division or a remainder as the generator writes them.
DIVISION = re.compile(r"megcc_(?:floor)?(?:div|mod)_(?:idx|i32)\(|[\w)] [/%] [\w(]")
#: Models -> why some of their loops divide.
ALLOWED = {
    "silero_vad_op18_ifless": "functions of branches have no named sizes",
    "silero_vad_v5": "functions of branches have no named sizes",
}


def innermost(text: str) -> Iterator[list[str]]:
    """The lines of each loop of a C text that has no loop inside."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if line.lstrip().startswith("for (") and line.endswith(";"):
            yield [line]
        elif line.lstrip().startswith("for ("):
            end = " " * (len(line) - len(line.lstrip())) + "}"
            body = lines[k + 1 : lines.index(end, k)]
            if not any(inside.lstrip().startswith("for (") for inside in body):
                yield body


def subscripts(line: str) -> Iterator[str]:
    """What stands between the outermost square brackets of a line."""
    depth, start = 0, 0
    for k, letter in enumerate(line):
        if letter == "[":
            depth += 1
            start = k + 1 if depth == 1 else start
        elif letter == "]":
            depth -= 1
            if depth == 0:
                yield line[start:k]


def divisions(package: Path) -> list[str]:
    """Lines of a package's generated kernels that divide an index in an innermost loop."""
    return [
        f"{path.name}: {line.strip()}"
        for path in sorted((package / "src" / "kernels").glob("megcc_tir_*.c"))
        for body in innermost(path.read_text())
        for line in body
        if any(map(DIVISION.search, subscripts(line)))
    ]


def test_what_divides_is_found() -> None:
    text = """
  for (ptrdiff_t i0 = begin; i0 < end; ++i0) {
    const ptrdiff_t q0 = i0 % 4;
    for (int32_t i1 = 0; i1 < 9; ++i1) {
      p1[(i0 * 9) + i1] = p0[{}] / p2[0];
    }
  }
"""
    for index, divides in [
        ("q0 + i1", False),
        ("i1 % 4", True),
        ("megcc_floordiv_idx(i1, s0)", True),
    ]:
        for shape in (text, "for (; i1 < 9; ++i1) p1[i1] = p0[{}];"):
            (body,) = innermost(shape.replace("{}", index))
            assert any(DIVISION.search(s) for line in body for s in subscripts(line)) == divides


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in zoo.NAMES if name.startswith("tiny_")])
def test_zoo(name: str, tmp_path: Path) -> None:
    driver.compile_model(zoo.build(name, "N"), tmp_path / "p", archs=["portable"], name=name)
    assert not divisions(tmp_path / "p")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["slow_open_elementwise", "slow_open_split", "slow_resize_linear_open", "resize_crop",
     "refused_slice_starts_run_time", "slow_dynamic_quantize_lstm", "refused_randomnormallike"],
)  # fmt: skip
def test_cases(name: str, shared: Path, tmp_path: Path) -> None:
    driver.compile_model(shared / "cases" / name / "model.onnx", tmp_path / "p", archs=["arm64"])
    assert not divisions(tmp_path / "p")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["gtcrn_stream", "tinybert_test", "basic_pitch", "yunet_postproc_nms", "fsanet_headpose",
     "silero_vad_op18_ifless", "silero_vad_v5"],
)  # fmt: skip
def test_corpus(name: str, shared: Path, tmp_path: Path) -> None:
    driver.compile_model(shared / "models" / name / "model.onnx", tmp_path / "p", archs=["arm64"])
    assert bool(divisions(tmp_path / "p")) == (name in ALLOWED)
