"""Packages whose calls run in bands of rows: ``inspect``, profiles, ``--dump`` and ``compare``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest

from tests.streaming.images import chain
from tvm_megcc.host.footprint import Executed
from tvm_megcc.report import executed

SVG = "{http://www.w3.org/2000/svg}"

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streamed") / "chain.onnx"
    onnx.save(chain(), path)
    return path


@pytest.fixture(scope="module")
def streamed(network: Path) -> Path:
    """The network in bands of 2 rows; only to be read."""
    from tvm_megcc.cli import main

    out = network.with_name("bands")
    words = ["--arch", "host", "--stream", "2", "--quiet"]
    assert main(["compile", str(network), "-o", str(out), *words]) == 0
    return out


@pytest.fixture(scope="module")
def facts(streamed: Path) -> dict[str, Any]:
    manifest = json.loads((streamed / "manifest.json").read_text())
    (entry,) = manifest["per_arch"].values()
    return entry


def test_inspect_lists_groups_and_line_buffers(tvmc, streamed: Path, facts: dict) -> None:
    ran = tvmc("inspect", streamed)
    assert ran.status == 0 and "calls in bands of rows for " in ran.out
    (group,) = facts["streamed"]
    said = (
        f"  calls {group['first_call']} to {group['last_call']} in bands of 2 rows,"
        f" {group['iterations']} iterations; {group['moved_bytes']} bytes moved in a run\n"
    )
    assert said in ran.out
    for b in group["buffers"]:
        assert f"{b['bytes']:>12}  {b['name']}, {b['rows']} rows of {b['height']}\n" in ran.out
    (told,) = json.loads(tvmc("inspect", streamed, "--json").out)["archs"].values()
    assert told["streamed"] == facts["streamed"]


def test_the_peak_is_a_call_by_its_number(tvmc, streamed: Path, facts: dict) -> None:
    """Steps of loops are no calls."""
    memory, calls = facts["memory"], facts["graph"]["calls"]
    (number,) = (k for k, call in enumerate(calls) if call["step"] == memory["peak_step"])
    assert number < memory["peak_step"]
    assert f"peak during call {number}, '{calls[number]['name']}'" in tvmc("inspect", streamed).out


def test_inspect_of_an_image_of_any_size(tvmc, tmp_path: Path) -> None:
    """Sizes are texts, and numbers for shapes that are given; a page, too."""
    model = chain()
    for axis, name in ((2, "h"), (3, "w")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    onnx.save(model, tmp_path / "m.onnx")
    words = [tmp_path / "m.onnx", "-o", tmp_path / "p", "--stream", 2, "--quiet"]
    assert tvmc("compile", *words, "--arch", "host").status == 0
    said = tvmc("inspect", tmp_path / "p").out
    assert (
        "in bands of 2 rows, floordiv(floordiv(h + 1, 2) + 1, 2)" in said and " rows of h\n" in said
    )
    at = ("--shapes", "x:[1,3,24,16]")
    said = tvmc("inspect", tmp_path / "p", *at).out
    assert "in bands of 2 rows, 7 iterations; " in said and " 6 rows of 24\n" in said
    told = json.loads(tvmc("inspect", tmp_path / "p", *at, "--json").out)
    (found,) = told["at"].values()
    assert found["streamed"][0]["iterations"] == 7
    page = tmp_path / "page.html"
    assert tvmc("inspect", tmp_path / "p", *at, "--html", page, "--no-build").status == 0
    assert "in bands of 2 rows, 7 iterations" in page.read_text()


def test_inspect_tells_programs_apart(tvmc, tmp_path: Path) -> None:
    model = chain()
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "h"
    onnx.save(model, tmp_path / "m.onnx")
    shapes = [w for h in (24, 48) for w in ("--input-shapes", f"x:[1,3,{h},16]")]
    words = [tmp_path / "m.onnx", "-o", tmp_path / "p", *shapes, "--stream", 2, "--quiet"]
    assert tvmc("compile", *words).status == 0
    said = tvmc("inspect", tmp_path / "p").out
    for number, height in enumerate((24, 48)):
        (part,) = re.findall(rf"rows for \S+, program {number}:\n((?:  .*\n)+)", said)
        heights = {int(rows) for rows in re.findall(r" rows of (\d+)\n", part)}
        assert heights == {height, height // 2}  # the last convolution has a stride of 2
    words = ["--shapes", "x:[1,3,48,16]", "--dump", tmp_path / "d"]
    assert tvmc("run", tmp_path / "p", *words).status == 0
    assert "[1, 48, 16, 8]" in (tmp_path / "d/calls.txt").read_text()


def test_inspect_of_whole_calls_has_no_groups(tvmc, package: Path) -> None:
    ran = tvmc("inspect", package)
    assert ran.status == 0 and "bands" not in ran.out


def test_plot_marks_line_buffers_and_loops(
    tvmc, streamed: Path, facts: dict, tmp_path: Path
) -> None:
    assert tvmc("inspect", streamed, "--plot", tmp_path / "m.svg").status == 0
    tree = ElementTree.parse(tmp_path / "m.svg").getroot()
    (group,) = facts["streamed"]
    classes = [found.get("class") for found in tree.iter(f"{SVG}rect")]
    assert classes.count("rows") == len(group["buffers"]) and classes.count("loop") == 1
    tips = [found.text or "" for found in tree.iter(f"{SVG}title")]
    for b in group["buffers"]:
        kept = f"\n{b['rows']} rows of {b['height']}"
        assert any(tip.startswith(f"{b['name']}\n") and tip.endswith(kept) for tip in tips)
    assert any("in bands of 2 rows" in tip for tip in tips)


def test_page_frames_the_calls_of_a_group(
    tvmc, streamed: Path, facts: dict, tmp_path: Path
) -> None:
    page = tmp_path / "r.html"
    assert tvmc("inspect", streamed, "--html", page, "--no-build").status == 0
    text = page.read_text()
    (group,) = facts["streamed"]
    framed = re.findall(r'<div class="call streamed([ a-z]*)" data-call="(\d+)"', text)
    assert [int(number) for _, number in framed] == list(
        range(group["first_call"], group["last_call"] + 1)
    )
    assert (framed[0][0], framed[-1][0]) == (" first", " last")
    b = group["buffers"][0]
    assert f"{b['rows']} rows of {b['height']}" in text
    told = json.loads(re.search(r'id="calls">(.*?)</script>', text, re.S)[1])
    about = dict(told[str(group["first_call"])]["about"])
    assert about["in bands of rows"].endswith(f"it runs {group['bands'][0]} times")


def test_profile_adds_up_the_bands(tvmc, streamed: Path, facts: dict, tmp_path: Path) -> None:
    out = tmp_path / "p.json"
    words = ["--profile", "--repeat", 3, "--profile-output", out]
    ran = tvmc("run", streamed, *words)
    assert ran.status == 0 and " times " in ran.out.splitlines()[1]
    profile = json.loads(out.read_text())
    (group,) = facts["streamed"]
    rows = {row["call"]: row for row in profile["calls"]}
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)
    for k, count in enumerate(group["bands"]):
        row = rows[group["first_call"] + k]
        assert row["times"] == row["bands"] == count > 1
        # A run does the work of the whole result once.
        if not row["multiply_adds"]:
            continue
        assert row["gflops"] == pytest.approx(2 * row["multiply_adds"] / row["ms"] / 1e6)
    for grouping in ("operator", "node", "kernel"):
        groups = profile[f"by_{grouping}"]
        adds = sum(row["multiply_adds"] or 0 for row in groups)
        assert adds == sum(row["multiply_adds"] or 0 for row in rows.values())
        assert sum(row["ms"] for row in groups) == pytest.approx(
            sum(row["ms"] for row in rows.values())
        )


def test_what_calls_compute_is_put_together(
    tvmc, network: Path, streamed: Path, tmp_path: Path
) -> None:
    """A dump is that of whole calls, to the bit, though memory never holds the results."""
    words = ["--arch", "host", "--stream", "off", "--quiet"]
    assert tvmc("compile", network, "-o", tmp_path / "whole", *words).status == 0
    dumps = []
    for package in (tmp_path / "whole", streamed):
        out = tmp_path / f"{package.name}_dump"
        assert tvmc("run", package, "--dump", out).status == 0
        with np.load(out / "tensors.npz") as found:
            dumps.append({name: found[name] for name in found.files})
    assert list(dumps[0]) == list(dumps[1]) and len(dumps[0]) > 3
    for name, array in dumps[0].items():
        assert array.tobytes() == dumps[1][name].tobytes(), name
        assert array.shape == dumps[1][name].shape
    files = [tmp_path / f"{name}_dump/calls.txt" for name in ("whole", "bands")]
    # A global pooling has another kernel, that of a band.
    calls = [re.sub(r"global_pool_\S+", "", file.read_text()) for file in files]
    assert calls[0] == calls[1]
    assert tvmc("compare", network, streamed, "--per-layer").status == 0


def test_instructions_of_moving_are_named() -> None:
    found = Executed("cortexm", 1000, ((0, 900),), copying=60)
    assert list(executed.lines(found, (), "call", 4096))[1:] == [
        "              60    6.0%  memcpy between the calls: 4096 bytes of line buffers are moved",
        "             940   94.0%  between the calls, bands of rows too",
    ]
    (line,) = list(executed.lines(found, (), "call"))[1:]
    assert line.endswith("between the calls")
