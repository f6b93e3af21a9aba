"""WindowsTo2d: 1-D windows, and 3-D ones that stay in their plane, run as 2-D ones.

One dimension is a plane of height 1::

    conv1d(x[N, C, W], w[O, I, K])
        -> squeeze(conv2d(expand_dims(x, 2), expand_dims(w, 2)), 2)

A kernel of depth 1 sees one plane at a time, so that planes are images of a batch::

    conv3d(x[N, C, D, H, W], w[O, I, 1, KH, KW])
        -> permute(reshape(conv2d(reshape(permute(x), [N * D, C, H, W]), squeeze(w, 2)),
                           [N, D, O, H', W']))

The same for pooling. What follows element by element (bias, normalisation, activation, a residual)
is computed before the dimension goes or comes back, where it is next to the convolution and can be
fused with it::

    add(squeeze(y, 2), bias[1, O, 1]) -> squeeze(add(y, bias[1, O, 1, 1]), 2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.dims import Size
from tvm_megcc.relax_tools.calls import op_name, rebuilt, with_args
from tvm_megcc.relax_tools.exprs import constant, make_constant, shape_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.shape_exprs import Symbols
from tvm_megcc.relax_tools.spatial import channels_first, layouts_of
from tvm_megcc.relax_tools.traits import ARITHMETIC, UNARY, named

_LINES = named("nn.conv1d nn.max_pool1d nn.avg_pool1d")
_VOLUMES = named("nn.conv3d nn.max_pool3d nn.avg_pool3d")
_PLANES_FIRST = (0, 2, 1, 3, 4)  # NCDHW <-> NDCHW
_SQUEEZE, _EXPAND = "relax.squeeze", "relax.expand_dims"
_AXIS = 2  # the one that goes or comes


@dataclass(frozen=True, slots=True)
class _Plane:
    """A 4-D value in place of a 3-D one without height (`squeezed`) or a 5-D one with depth 1."""

    value: relax.Var
    squeezed: bool

    @property
    def rank(self) -> int:
        """Rank of the value that this one replaces."""
        return 3 if self.squeezed else 5


def _ints(values: object) -> list[int]:
    return [int(v) for v in values]  # type: ignore[attr-defined]


def _window(call: relax.Call, symbols: Symbols) -> list[int]:
    """Extents of the kernel or of the pool; 0 for an unknown one."""
    if len(call.args) > 1:
        shape = shape_of(call.args[1], symbols)
        return [v if isinstance(v, int) else 0 for v in shape[2:]] if shape is not None else [0]
    return _ints(call.attrs.pool_size)


def _one_plane(call: relax.Call, symbols: Symbols) -> bool:
    """Whether a 3-D window reads the plane that it writes, and no other."""
    before, after = _ints(call.attrs.padding)[::3]
    return _window(call, symbols)[0] == 1 == _ints(call.attrs.strides)[0] and before == after == 0


def _planar(values: list[int], dims: int, fill: int) -> list[int]:
    """Attribute of a 1-D window with `fill` for the new dim, or of a 3-D one without its first."""
    return [fill, *values] if dims == 1 else values[1:]


def _of_planes(call: relax.Call, args: list[relax.Expr], dims: int) -> relax.Call:
    """Make the 2-D call for a convolution or pool of `dims` (1 or 3) spatial dimensions."""
    attrs = call.attrs
    padding = _ints(attrs.padding)
    rank = len(padding) // 2
    before, after = (_planar(side, dims, 0) for side in (padding[:rank], padding[rank:]))
    changed: dict[str, object] = {
        name: _planar(_ints(getattr(attrs, name)), dims, 1)
        for name in ("strides", "dilation", "pool_size")
        if hasattr(attrs, name)
    }
    if hasattr(attrs, "layout"):
        changed["layout"] = "NCHW"
    else:
        changed |= {"data_layout": "NCHW", "kernel_layout": "OIHW"}
    name = op_name(call).replace(f"{dims}d", "2d")
    return rebuilt(call, args, name, padding=[*before, *after], out_layout="NCHW", **changed)


@rewriting_pass("tvm_megcc.WindowsTo2d")
class WindowsTo2d(Rewriter):
    """Rewrite convolutions and pooling of 1 and 3 dimensions in channels-first layouts."""

    def __init__(self, *given: tvm.IRModule) -> None:
        super().__init__(*given)
        self.planes: set[relax.Var] = set()

    @on(*_LINES)
    def _line(self, call: relax.Call) -> relax.Expr:
        if layouts_of(call) != channels_first(call):
            return call
        wide = [self.emit(relax.op.expand_dims(a, axis=_AXIS)) for a in call.args]
        return self._back(_of_planes(call, wide, 1), squeezed=True)

    @on(*_VOLUMES)
    def _plane_by_plane(self, call: relax.Call) -> relax.Expr:
        if layouts_of(call) != channels_first(call) or not _one_plane(call, self.symbols):
            return call
        data, *weights = call.args
        shape, result = (shape_of(v, self.symbols) for v in (data, call))
        if shape is None or result is None or 0 in (*shape, *result):
            return call  # to `reshape` a 0 is the operand's own dim
        n, c, d, h, w = shape
        flat = [self.emit(relax.op.squeeze(k, axis=[_AXIS])) for k in weights]
        if d == 1:
            plane = self.emit(relax.op.squeeze(data, axis=[_AXIS]))
            return self._back(_of_planes(call, [plane, *flat], 3), squeezed=False)
        images = self.emit(relax.op.permute_dims(data, _PLANES_FIRST))
        images = self._reshape(images, [n * d, c, h, w])
        images = self.emit(_of_planes(call, [images, *flat], 3))
        planes = self._reshape(images, [result[0], result[2], result[1], *result[3:]])
        return relax.op.permute_dims(planes, _PLANES_FIRST)

    def _back(self, value: relax.Expr, squeezed: bool) -> relax.Call:
        """Note a plane, and give it the rank of the value that it replaces."""
        plane = self.emit(value)
        self.planes.add(plane)
        if squeezed:
            return relax.op.squeeze(plane, axis=[_AXIS])
        return relax.op.expand_dims(plane, axis=_AXIS)

    @on(*UNARY, *ARITHMETIC)
    def _element_by_element(self, call: relax.Call) -> relax.Expr:
        planes = [self._plane(a) for a in call.args]
        known = [p for p in planes if p is not None]
        if not known or any(p.squeezed != known[0].squeezed for p in known):
            return call
        args = []
        for arg, plane in zip(call.args, planes, strict=True):
            value = plane.value if plane is not None else _as_plane(arg, known[0])
            if value is None:
                return call
            args.append(value)
        return self._back(with_args(call, args), known[0].squeezed)

    @on("relax.quantize", "relax.dequantize")
    def _of_all_elements(self, call: relax.Call) -> relax.Expr:
        """A ``quantize`` or ``dequantize`` by one scale, for which the axis does not matter."""
        plane = self._plane(call.args[0])
        if plane is None or any(a.ty.ndim for a in call.args[1:]):
            return call
        made = rebuilt(call, [plane.value, *call.args[1:]], axis=0)
        return self._back(made, plane.squeezed)

    def _plane(self, arg: relax.Expr) -> _Plane | None:
        """The plane that `arg` was made of by `_back`."""
        value = bound(self, arg)
        name = op_name(value)
        if name not in (_SQUEEZE, _EXPAND):
            return None
        whole = value.args[0]
        return _Plane(whole, name == _SQUEEZE) if whole in self.planes else None

    def _reshape(self, data: relax.Expr, shape: list[Size]) -> relax.Expr:
        return self.emit(relax.op.reshape(data, self.shape(shape)))


def _as_plane(arg: relax.Expr, plane: _Plane) -> relax.Expr | None:
    """A constant reshaped to broadcast to the plane; None if it varies along the removed axis."""
    array = constant(arg)
    if array is None or array.ndim > plane.rank:
        return None
    array = array.reshape([1] * (plane.rank - array.ndim) + list(array.shape))
    if plane.squeezed:
        return make_constant(np.expand_dims(array, _AXIS))
    return make_constant(array.squeeze(_AXIS)) if array.shape[_AXIS] == 1 else None
