"""Profiles: what the calls took, in every form, of this machine and of a device's trace."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli import tiny
from tvm_megcc.report import formats

NODES = {"MatMul 'product'", "Relu 'relu'", "ReduceSum 'sum'"}


@pytest.fixture(scope="module")
def trace(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the package's own runner writes, as on a device."""
    from tvm_megcc import execute

    path = tmp_path_factory.mktemp("trace") / "t.json"
    with execute.opened(package) as runnable:
        result = runnable.run({}, repeat=3, profile=True)
    path.write_text(json.dumps(result.trace))
    return path


def facts_of(tvmc: Callable[..., Any], package: Path, trace: Path) -> dict[str, Any]:
    ran = tvmc("inspect", package, "--profile", trace, "--json")
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.slow
def test_profile_of_a_run_in_every_form(tvmc, package: Path, inputs: Path, tmp_path: Path) -> None:
    ends = ["p.txt", "p.csv", "p.json", "p.trace.json"]
    args = [word for end in ends for word in ("--profile-output", tmp_path / end)]
    ran = tvmc("run", package, "--inputs", inputs, "--profile", "--repeat", 3, *args)
    assert ran.status == 0, ran.err
    assert (tmp_path / "p.txt").read_text() == ran.out
    assert ran.out.startswith("profile: ") and "mean of 3 runs" in ran.out
    facts = json.loads((tmp_path / "p.json").read_text())
    names = [call["name"] for call in facts["calls"]]
    for name in names:
        assert re.search(rf" {re.escape(name)}$", ran.out, re.M)
    with (tmp_path / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == formats.COLUMNS
    assert sorted(row["name"] for row in rows) == sorted(names)
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)
    shares = [float(row["share"]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    again = json.loads((tmp_path / "p.trace.json").read_text())
    calls = [event for event in again["traceEvents"] if event.get("cat") == "call"]
    assert len(calls) == 3 * len(names) and calls[0]["args"]["nodes"]
    # What was written is a trace that can be read again.
    assert facts_of(tvmc, package, tmp_path / "p.trace.json") == facts


def test_profile_knows_the_work_and_the_nodes(tvmc, package: Path, trace: Path) -> None:
    facts = facts_of(tvmc, package, trace)
    product = next(call for call in facts["calls"] if "MatMul 'product'" in call["nodes"])
    assert product["multiply_adds"] == 2 * 3 * 4
    assert product["gflops"] == pytest.approx(2 * 24 / product["ms"] / 1e6)
    assert product["bytes"] >= 4 * (2 * 3 + 3 * 4 + 2 * 4)  # weights may be padded
    assert {node for call in facts["calls"] for node in call["nodes"]} == NODES
    assert facts["inputs"] == {"x:0": [2, 3]} and facts["runs"]["count"] == 3
    for grouping in ("operator", "node", "kernel"):
        rows = facts[f"by_{grouping}"]
        total = sum(call["ms"] for call in facts["calls"])
        assert sum(row["ms"] for row in rows) == pytest.approx(total)
        assert sum(row["calls"] for row in rows) == len(facts["calls"])


@pytest.mark.parametrize(
    ("grouping", "name"),
    [("operator", "MatMul + Relu"), ("node", "MatMul 'product' + Relu 'relu'")],
)
def test_profile_by(tvmc, package: Path, trace: Path, grouping: str, name: str) -> None:
    ran = tvmc("inspect", package, "--profile", trace, "--by", grouping)
    assert ran.status == 0 and re.search(rf" {re.escape(name)}$", ran.out, re.M), ran.out


def test_profile_without_counters_says_why(tvmc, package: Path, trace: Path) -> None:
    found = json.loads(trace.read_text())
    found["otherData"]["not_counted"] = "it is forbidden"
    for event in found["traceEvents"]:
        event.get("args", {}).pop("instructions", None)
    trace.write_text(json.dumps(found))
    ran = tvmc("inspect", package, "--profile", trace)
    assert "instructions are not counted: it is forbidden\n" in ran.out
    found["otherData"]["not_counted"] = ""
    for event in found["traceEvents"]:
        if event.get("cat") == "call":
            event["args"]["instructions"] = 1234
    trace.write_text(json.dumps(found))
    ran = tvmc("inspect", package, "--profile", trace)
    assert "instructions" in ran.out.splitlines()[1] and " 1234 " in ran.out
    assert "not counted" not in ran.out


@pytest.mark.slow
def test_profile_of_open_sizes(tvmc, dynamic: Path, tmp_path: Path) -> None:
    """Bytes follow from the sizes that were run."""
    assert tvmc("compile", dynamic, "-o", tmp_path / "p", "--quiet").status == 0
    out = tmp_path / "p.json"
    sizes = []
    for rows in (4, 400):
        ran = tvmc("run", tmp_path / "p", "--shapes", f"x:[{rows},3]", "--profile-output", out)
        assert (ran.status, ran.out) == (0, ""), ran.err
        facts = json.loads(out.read_text())
        assert facts["inputs"]["x"] == [rows, 3]
        sizes.append(sum(call["bytes"] for call in facts["calls"]))
    assert sizes[1] - sizes[0] >= 2 * 4 * 3 * 396


@pytest.mark.slow
def test_trace_has_a_row_for_each_thread(tvmc, tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [512, 256])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [512, 256])
    w = numpy_helper.from_array(np.ones((256, 256), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    model = tiny.save(tiny.finish(helper.make_graph(nodes, "m", [x], [y], [w])), tmp_path)
    assert tvmc("compile", model, "-o", tmp_path / "p", "--threads", 2).status == 0
    out = tmp_path / "t.trace.json"
    ran = tvmc("run", tmp_path / "p", "--threads", 2, "--repeat", 5, "--profile-output", out)
    assert ran.status == 0, ran.err
    events = json.loads(out.read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    parts = [e for e in events if e.get("cat") == "part"]
    assert names[0] == "calls" and names[1] == "worker 0" and parts
    assert {e["tid"] for e in parts} <= set(names)
    calls = [e for e in events if e.get("cat") == "call"]
    for part in parts:  # stands within its call
        call = next(
            c for c in calls if all(c["args"][k] == part["args"][k] for k in ("run", "call"))
        )
        assert call["ts"] <= part["ts"] + 0.01
        assert part["ts"] + part["dur"] <= call["ts"] + call["dur"] + 0.01


def test_profile_mistakes(tvmc, package: Path, library: Path, trace: Path, tmp_path: Path) -> None:
    said = tvmc("run", package, "--profile-output", tmp_path / "p.xml").sentence()
    assert "must end in one of .csv, .json, .trace.json, .txt" in said
    said = tvmc("run", package, "--profile-output", tmp_path / "no" / "p.csv").sentence()
    assert "no such directory" in said
    assert "--profile:" in tvmc("run", library, "--profile").sentence()
    assert "add --profile" in tvmc("inspect", package, "--profile-output", "p.csv").sentence()
    for text in ("no JSON", "[]", '{"otherData": {}}'):
        (tmp_path / "bad.json").write_text(text)
        said = tvmc("inspect", package, "--profile", tmp_path / "bad.json").sentence()
        assert "is no trace of tvm_megcc; make one with run --trace" in said
    found = json.loads(trace.read_text())
    for change, words in (
        (lambda t: t["otherData"].update(machine="armv7"), "the profile is of code for armv7"),
        (lambda t: t["otherData"].update(inputs={"z": [1]}), "the profile is not of"),
        (lambda t: t["otherData"].pop("threads"), "the trace is damaged"),
        (
            lambda t: [e["args"].update(kernel="other") for e in t["traceEvents"] if "cat" in e],
            "the profile is not of",
        ),
    ):
        changed = json.loads(json.dumps(found))
        change(changed)
        (tmp_path / "bad.json").write_text(json.dumps(changed))
        assert words in tvmc("inspect", package, "--profile", tmp_path / "bad.json").sentence()
    assert list(tmp_path.iterdir()) == [tmp_path / "bad.json"]


def test_profile_of_a_package_of_an_earlier_version(
    tvmc, package: Path, trace: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(package, old)
    manifest = json.loads((old / "manifest.json").read_text())
    for entry in manifest["per_arch"].values():
        del entry["graph"]
    (old / "manifest.json").write_text(json.dumps(manifest))
    assert "of an earlier version" in tvmc("inspect", old, "--profile", trace).sentence()
