"""How sizes and nodes are written for people."""

from __future__ import annotations

from tvm_megcc.dims import Symbol, floordiv, json_text, of, to_json
from tvm_megcc.report import labels


def test_sizes_as_text() -> None:
    n, m = of(Symbol("n")), of(Symbol("m"))
    for size, text in (
        (7, "7"), (n, "n"), (n * 2 + 1, "2*n + 1"), (n * m - 3, "m*n - 3"),
        (floordiv(n, 2), "floordiv(n, 2)"),
    ):  # fmt: skip
        assert json_text(to_json(size)) == text


def test_many_nodes_are_cut() -> None:
    assert labels.nodes([]) == "" and labels.operators([]) == ""
    found = [f"Conv 'c{k}'" for k in range(9)]
    assert labels.nodes(found) == "Conv 'c0' + ... + Conv 'c8' (9 nodes)"
    assert labels.operators([*found, "Relu 'r'"]) == "Conv ×9 + Relu"
