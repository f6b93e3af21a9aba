"""Packers: constant operands in the layout that a kernel reads, named by its ``pack:`` line.

Enters: the operand as the op header describes it, the facts of the call, the options of the header
line. Leaves: an array whose bytes, in order, are the packed weights.

Example
-------
>>> w = np.arange(6, dtype=np.float32).reshape(3, 1, 1, 2)      # OHWI
>>> gemm_panels(w, {"g": 1}, nr=2).tolist()                     # [group][panel][k][lane]
[[[[0.0, 2.0], [1.0, 3.0]], [[4.0, 0.0], [5.0, 0.0]]]]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tvm_megcc.kernels.registry import Packing

Array = np.ndarray[Any, np.dtype[Any]]
Facts = Mapping[str, Any]


def apply(how: Packing, array: Array, facts: Facts) -> Array:
    """Apply the packer that a kernel's header names.

    Raises
    ------
    ValueError
        When there is no packer of that name.
    """
    packer = PACKERS.get(how.name)
    if packer is None:
        raise ValueError(f"no packer {how.name!r} in packing.py; there are {', '.join(PACKERS)}")
    return np.ascontiguousarray(packer(array, facts, **dict(how.options)))


def _panels(rows: Array, nr: int) -> Array:
    """``[..., N, K]`` -> ``[..., ceil(N / nr), K, nr]``, zeros in the lanes past N."""
    *lead, n, k = rows.shape
    count = -(-n // nr)
    padded = np.zeros((*lead, count * nr, k), rows.dtype)
    padded[..., :n, :] = rows
    return np.ascontiguousarray(np.swapaxes(padded.reshape(*lead, count, nr, k), -1, -2))


def gemm_panels(array: Array, facts: Facts, nr: int) -> Array:
    """Convolution weights for the implicit matrix product.

    Parameters
    ----------
    array : ndarray [OC, KH, KW, IC/G]
    facts : mapping
        ``g`` is read.
    nr : int
        Channels per panel.

    Returns
    -------
    ndarray [G, ceil(OC/G / nr), KH * KW * IC/G, nr]
    """
    groups = int(facts["g"])
    oc = array.shape[0]
    depth = int(np.prod(array.shape[1:]))
    return _panels(array.reshape(groups, oc // groups, depth), nr)


def matmul_panels(array: Array, facts: Facts, nr: int) -> Array:
    """The constant right-hand side of a product.

    Parameters
    ----------
    array : ndarray [..., K, N], or [..., N, K] when fact ``trans_b`` is 1; leading dims are 1
    facts : mapping
        ``trans_b`` is read.
    nr : int
        Columns per panel.

    Returns
    -------
    ndarray [ceil(N / nr), K, nr]
    """
    matrix = array.reshape(array.shape[-2:])
    return _panels(matrix if facts["trans_b"] else matrix.T, nr)


def dw_taps(array: Array, facts: Facts) -> Array:
    """Depthwise weights ``[C, KH, KW, 1]`` as ``[KH * KW, C]``: one row of channels per tap."""
    del facts
    return np.ascontiguousarray(array.reshape(array.shape[0], -1).T)


def pad_to(array: Array, facts: Facts, n: int) -> Array:
    """A vector, zeros appended to a multiple of `n` elements."""
    del facts
    flat = array.reshape(-1)
    return np.concatenate([flat, np.zeros(-flat.size % n, array.dtype)])


#: Name in a ``pack:`` line -> packer.
PACKERS = {f.__name__: f for f in (dw_taps, gemm_panels, matmul_panels, pad_to)}
