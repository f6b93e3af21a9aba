"""The manifest's text: JSON as Python writes it, but for sizes."""

from __future__ import annotations

import json

import pytest

from tvm_megcc import dims
from tvm_megcc.codegen_c.emit.manifest_text import manifest_text
from tvm_megcc.host import package

N = dims.symbol("n")
LONG = dims.maximum(N - 1, 0) // 2 + dims.maximum(N - 1, 0) // 3 + 1


def test_without_sizes_it_is_what_json_writes() -> None:
    facts = {"b": [1, [], {}, {"c": None, "a": "ä\n"}], "a": (1.5, True, "x"), "ü": [[2, 3]]}
    assert manifest_text(facts) == json.dumps(facts, indent=1, sort_keys=True) + "\n"


def test_a_size_stands_on_one_line() -> None:
    assert manifest_text({"a": [N * 2, 3]}) == '{\n "a": [\n  [[2, ["n"]]],\n  3\n ]\n}\n'


def test_a_long_size_is_written_once() -> None:
    text = manifest_text({"a": LONG, "b": {"c": [LONG, N], "d": LONG * 2}})
    assert json.loads(text)["shared_sizes"] == [dims.to_json(LONG)]
    assert text.count("floordiv") == 4, "in the table, and in what is another sum"
    assert "shared_sizes" not in manifest_text({"a": LONG, "b": N})


def test_a_package_is_read_with_whole_sizes(tmp_path) -> None:
    keys = ("format", "abi", "c_name", "archs", "inputs", "outputs")
    facts = {**dict.fromkeys(keys, 0), "per_arch": [LONG, {"x": LONG}]}
    (tmp_path / "manifest.json").write_text(manifest_text(facts))
    read = package.load(tmp_path).manifest
    assert read["per_arch"] == [dims.to_json(LONG), {"x": dims.to_json(LONG)}]
    assert "shared_sizes" not in read


@pytest.mark.parametrize("wrong", [[], {}, 7, None, [{"size": 0}], [3, {"size": "x"}]], ids=str)
def test_a_table_that_lacks_a_size_is_of_no_package(wrong: object, tmp_path) -> None:
    keys = ("format", "abi", "c_name", "archs", "inputs", "outputs")
    facts = {**dict.fromkeys(keys, 0), "per_arch": {"size": 5}, "shared_sizes": wrong}
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    assert not package.is_package(tmp_path)
