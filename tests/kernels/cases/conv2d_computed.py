"""conv2d_computed: convolutions of conv2d, the same but for the packing of their weights."""

from __future__ import annotations

from cases import conv2d

CASES = [row for row in conv2d.DENSE[::3] if row["ic"]]
CASES += [
    {"h": 5, "w": 6, "ic": 24, "oc": 24, "g": 24, "pt": 1, "pl": 1, "pb": 1, "pr": 1},
    {"h": 1, "w": 1, "ic": 9, "oc": 21, "kh": 1, "kw": 1, "n": 2},
]
HALVES = CASES[::3]
facts, operands, reference = conv2d.facts, conv2d.operands, conv2d.reference
