"""Names in a line for the nodes that a call computes, and for calls in bands of rows.

Example
-------
>>> operators(("Conv 'a'", "Relu 'b'", "Conv 'c'")), nodes(("Conv 'a'", "Relu 'b'"))
('Conv ×2 + Relu', "Conv 'a' + Relu 'b'")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tvm_megcc.dims import json_at, json_text

#: Of more nodes only the first and the last are named.
NAMED = 5


def operators(nodes: Sequence[str]) -> str:
    """The ONNX operators, each once, in the order of their first nodes; empty without nodes."""
    counts = Counter(node.split(" ")[0] for node in nodes)
    return " + ".join(f"{op} ×{count}" if count > 1 else op for op, count in counts.items())


def nodes(found: Sequence[str]) -> str:
    """The nodes as text; "" for none."""
    if len(found) <= NAMED:
        return " + ".join(found)
    return f"{found[0]} + ... + {found[-1]} ({len(found)} nodes)"


def size_at(size: object, values: Mapping[str, int]) -> int | None:
    """A size of the manifest as a number; None if `values` do not determine it."""
    try:
        return json_at(size, values)
    except (KeyError, ZeroDivisionError):
        return None


def group_at(group: Mapping[str, Any], values: Mapping[str, int]) -> dict[str, Any]:
    """A group of the manifest's ``streamed`` with numbers for sizes, texts for unknown ones."""

    def known(size: object) -> int | str:
        found = size_at(size, values)
        return json_text(size) if found is None else found

    return {
        **group,
        "iterations": known(group["iterations"]),
        "moved_bytes": known(group["moved_bytes"]),
        "bands": [known(count) for count in group["bands"]],
        "buffers": [
            {**buffer, **{key: known(buffer[key]) for key in ("rows", "height", "bytes")}}
            for buffer in group["buffers"]
        ],
    }


def band_text(group: Mapping[str, Any]) -> str:
    """``bands of 1 row, 14 iterations``, of a group of the manifest's ``streamed``."""
    rows = f"{group['band_rows']} row{'s' * (group['band_rows'] != 1)}"
    return f"bands of {rows}, {group['iterations']} iterations"


def group_text(group: Mapping[str, Any]) -> str:
    """``calls 0 to 7 in bands of 1 row, 14 iterations``."""
    return f"calls {group['first_call']} to {group['last_call']} in {band_text(group)}"


def kept_text(buffer: Mapping[str, Any]) -> str:
    """``3 rows of 48``, of a line buffer or a tensor in one."""
    return f"{buffer['rows']} rows of {buffer['height']}"
