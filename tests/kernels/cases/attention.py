"""attention: rows in blocks and few of them, strides of heads, broadcast keys, masks and scales."""

from __future__ import annotations

import numpy as np

_SIZES = [
    (1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 4, 6), (1, 2, 1, 33, 8, 12), (1, 2, 2, 9, 16, 5),
    (2, 2, 3, 8, 32, 32), (1, 1, 24, 16, 8, 24), (1, 2, 25, 17, 9, 8), (1, 1, 53, 40, 5, 3),
    (3, 1, 4, 1, 3, 2), (1, 2, 7, 0, 4, 3), (0, 2, 3, 4, 5, 6), (2, 1, 0, 3, 2, 4),
]  # fmt: skip
CASES = [
    *({"sizes": sizes, "trans_k": t} for sizes in _SIZES for t in (0, 1)),
    *({"sizes": sizes, "trans_k": 1, "mask": "1111"} for sizes in _SIZES),
    *({"sizes": (2, 3, m, 19, 8, 16), "trans_k": t, "mask": mask, "scale": -0.25, "heads_last": 1}
      for m in (1, 2, 30) for t in (0, 1) for mask in ("0000", "0011", "1001")),
    *({"sizes": (2, 3, m, 19, 8, 16), "trans_k": 1, "shared": 1} for m in (1, 9)),
]  # fmt: skip


def _strides(shape, heads_last, shared=False):
    """Elements from batch to batch, head to head and row to row; [b, m, h, d] with `heads_last`."""
    _, h, m, d = shape
    b_step, h_step, row = (h * m * d, d, h * d) if heads_last else (h * m * d, m * d, d)
    return (0, 0, row) if shared else (b_step, h_step, row)


def facts(row):
    b, h, m, n, d, e = row["sizes"]
    last, shared = row.get("heads_last", 0), row.get("shared", 0)
    f = {"b": b, "h": h, "m": m, "n": n, "d": d, "e": e, "scale": row.get("scale", 0.5)}
    f |= {"mask": int("mask" in row), "trans_k": row["trans_k"], "last": last}
    k = (b, h, n, d) if row["trans_k"] else (b, h, d, n)
    k_last = last and row["trans_k"]
    for name, steps in {
        "q": _strides((b, h, m, d), last), "k": _strides(k, k_last, shared),
        "v": _strides((b, h, n, e), last, shared), "y": _strides((b, h, m, e), last),
    }.items():  # fmt: skip
        f |= {f"{name}_b": steps[0], f"{name}_h": steps[1], f"{name}_row": steps[2]}
    there = [int(c) for c in row.get("mask", "0000")]
    shape = [size if is_there else 1 for size, is_there in zip((b, h, m), there, strict=False)]
    steps = [int(np.prod(shape[i + 1 :])) * n * there[i] for i in range(3)]
    return f | {f"mask_{name}": step for name, step in zip("bhm", steps, strict=True)}


def _swapped(f, array):
    return array.swapaxes(1, 2) if f["last"] else array


def operands(f, rng):
    b, h, m, n, d, e = (f[name] for name in "bhmnde")
    kb, kh = (b, h) if f["k_row"] and (f["k_b"] or f["k_h"]) else (1, 1)
    shapes = [(b, h, m, d), (kb, kh, n, d), (kb, kh, n, e)]
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    if not f["trans_k"]:
        k = np.ascontiguousarray(k.swapaxes(2, 3))
    elif f["last"]:
        k = np.ascontiguousarray(_swapped(f, k))
    made = [np.ascontiguousarray(_swapped(f, q)), k, np.ascontiguousarray(_swapped(f, v))]
    if f["mask"]:
        shape = [
            size if f[f"mask_{name}"] else 1 for name, size in zip("bhm", (b, h, m), strict=True)
        ]
        mask = rng.standard_normal((*shape, n)).astype(np.float32)
        mask[..., 1::3] = -1e4
        made.append(mask)
    return made


def reference(f, inputs):
    q, k, v, *mask = (a.astype(np.float64) for a in inputs)
    q, v = _swapped(f, q), _swapped(f, v)
    k = k if not f["trans_k"] else _swapped(f, k).swapaxes(2, 3)
    scores = q @ k * f["scale"] + (mask[0] if mask else 0)
    terms = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    with np.errstate(invalid="ignore"):
        y = (
            (terms / terms.sum(-1, keepdims=True)) @ v
            if f["n"]
            else np.zeros((*q.shape[:3], f["e"]))
        )
    return [np.ascontiguousarray(_swapped(f, y)).astype(np.float32)]
