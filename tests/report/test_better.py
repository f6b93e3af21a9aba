"""What a report advises."""

from __future__ import annotations

from typing import Any

from tvm_megcc.report.better import better
from tvm_megcc.report.profile import Profile, Row


def facts(**changes: Any) -> dict[str, Any]:
    entry = {"threads": 4, "calls": 2, "arena_bytes": 64, **changes}
    port = {"name": "x", "shape": [1, 3]}
    return {"symbols": [], "inputs": [port], "outputs": [port], "archs": {"arm64": entry}}


def profile(*rows: tuple[str, float], run: float = 1.0, emulated: bool = False) -> Profile:
    made = tuple(
        Row(k, f"v{k}", (), "k", template, ms, ms, 1.0, None, 0, 0)
        for k, (template, ms) in enumerate(rows)
    )
    return Profile("m", "arm64", emulated, 1, (run,), "", made, {}, {})


def test_nothing_to_say() -> None:
    assert list(better(facts(), "arm64", profile(("conv2d_nhwc", 1.0)))) == []


def test_of_the_package() -> None:
    memory = {"optimal": False, "lower_bound": 32}
    work = {"multiply_adds": {"i8": 7}, "in_float": {"q": "its scale"}, "widened": {"w": "no"}}
    said = "\n".join(better(facts(threads=1, memory=memory, work=work), "arm64", None))
    for words in (
        "'q' is quantised, but computed in float: its scale",
        "the weights of 'w'",
        "7 multiply-adds are of 8 bits",
        "2.000 times its lower bound",
        "with --threads N",
    ):
        assert words in said


def test_of_open_dims() -> None:
    found = facts()
    found["symbols"] = [
        {"name": "n", "low": 1, "high": None},
        {"name": "b", "low": 1, "high": 8},
    ]
    found["inputs"] = [{"name": "x", "shape": ["n", "b"]}]
    (line,) = better(found, "arm64", None)
    assert line.startswith("'n' is unbounded") and '--input-shapes "x:[1..' in line
    found["archs"]["arm64"]["functions"] = [{"sizes": {"n": [4, 5]}}, {"sizes": {"n": [8, 9]}}]
    assert list(better(found, "arm64", None)) == []  # the shapes were listed


def test_of_a_profile() -> None:
    rows = ("conv2d_nhwc", 0.5), ("generated", 0.3), ("transpose_simd", 0.2)
    said = list(better(facts(), "arm64", profile(*rows, run=2.0, emulated=True)))
    starts = ["30 % of the calls' time is in generated", "20 % of the calls' time only moves"]
    starts += ["50 % of a run is outside", "the times are those of qemu"]
    assert len(said) == 4
    assert all(line.startswith(start) for line, start in zip(said, starts, strict=True))
