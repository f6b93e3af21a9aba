"""Names in a line for the nodes that a call computes.

Example
-------
>>> operators(("Conv 'a'", "Relu 'b'", "Conv 'c'")), nodes(("Conv 'a'", "Relu 'b'"))
('Conv ×2 + Relu', "Conv 'a' + Relu 'b'")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
