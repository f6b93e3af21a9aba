"""Which rows of its inputs a call needs for rows of its output, and how it computes only those.

A table by operator. Enters: a call of a program. Leaves: its `RowRule`, or None where the call
cannot be done by bands of rows: it reads all of its input before it gives a row, or has several
images. The result of a global pooling has no rows: each band of the input adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import cast

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.program import Call, Kernel, Patch, Program, Tensor, Window
from tvm_megcc.kernels import header, registry
from tvm_megcc.kernels.contract import codes, contract
from tvm_megcc.kernels.expression import Expression, Fact
from tvm_megcc.kernels.kernel_file import KernelFile, bits_of
from tvm_megcc.streaming.global_bands import Sums, sums_of

#: Work of kernels that do blocks of pixels or rows at a time.
_BLOCKS = re.compile(r"ceil\((pixels|rows|tiles), (\w+)\) \* (.+)")

#: Macro of kernels that compute tiles of so many rows and columns.
_TILE = "MEGCC_WINOGRAD_M"

#: Rows that a window of copied rows moves on by, reaches or begins above the image, at most.
_MOST = 64


@dataclass(frozen=True, slots=True)
class RowRule:
    """How one call is done by bands.

    Attributes
    ----------
    window : Window
        Input rows of an output row; one for one where the call is element by element.
    height : int
        Rows of the output; with `sums`, of the input.
    windowed : tuple of int
        Positions of the operands whose rows are the window's.
    alike : tuple of int
        Positions of inputs whose rows are the output's.
    units, tile, block, columns, patches
        As in `tvm_megcc.core.program.Rows`; a band is a multiple of `tile`.
    workspace : callable
        Rows of output and of input of a band -> bytes of workspace.
    sums : Sums, optional
        The call of a band where the result is of all rows: the rows of a band are then the input's.
    """

    window: Window
    height: int
    windowed: tuple[int, ...]
    alike: tuple[int, ...]
    units: int
    tile: int = 1
    block: int = 0
    columns: int = 1
    patches: tuple[Patch, ...] = ()
    workspace: Callable[[int, int], int] | None = None
    sums: Sums | None = None

    def outputs(self, call: Call) -> tuple[int, ...]:
        """Positions of the call's results whose rows are those of a band."""
        return () if self.sums is not None else (len(call.reads),)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A call with what its kernel's header says."""

    program: Program
    call: Call
    op: str
    kernel: KernelFile
    facts: Mapping[str, int]  # attributes, and codes that the kernel's macros say
    height: int | None  # of an operand's image, where another call said it

    @property
    def output(self) -> int:
        """Position of the result."""
        return len(self.call.reads)

    @property
    def work(self) -> str:
        return self.kernel.formulas["work"].text

    def elements(self, operand: int) -> int:
        tensor = self.program.tensors[self.call.operands[operand]]
        return prod(cast(Sequence[int], tensor.shape))

    def moves(self, operand: int) -> bool:
        """Whether the operand is computed or given, and not a constant."""
        tensor = self.program.tensors[self.call.operands[operand]]
        return tensor.location.space != "weight"

    def alike(self, first: int) -> tuple[int, ...]:
        """Inputs from `first` on that have the result's elements."""
        size = self.elements(self.output)
        places = range(first, self.output)
        return tuple(k for k in places if self.moves(k) and self.elements(k) == size)

    def patches(self, **rows: str) -> tuple[Patch, ...]:
        names = contract(self.op).attributes
        return tuple(Patch(names.index(name), what) for name, what in rows.items())


class Rules:
    """The rules of a program's calls, and the rows of its storages, each found once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int | None], tuple[Call, RowRule | None]] = {}
        self._images: dict[int, tuple[Call, tuple[int, ...], int | None]] = {}
        self._agreed: dict[int, tuple[tuple[int, int], ...] | None] = {}
        self._tensors: Sequence[Tensor] = ()
        self._heights: dict[int, int] = {}
        self._single: frozenset[int] = frozenset()

    def _read(self, program: Program) -> None:
        """Find what storages are, once for tensors."""
        if self._tensors is not program.tensors:
            self._tensors = program.tensors
            self._heights = _image_heights(program.tensors)
            self._single = _single_storages(program.tensors)

    def single(self, program: Program) -> frozenset[int]:
        """Storages whose tensors are all views of all of it."""
        self._read(program)
        return self._single

    def height(self, program: Program, call: Call, heights: Mapping[int, int]) -> int | None:
        """Rows of a call's result where they are those of an operand, or of a view of one.

        `heights` are those of storages that operators say themselves.
        """
        if id(call) not in self._images:
            self._images[id(call)] = call, *self._image(program, call)
        _, storages, height = self._images[id(call)]
        return next((heights[s] for s in storages if s in heights), height)

    def _image(self, program: Program, call: Call) -> tuple[tuple[int, ...], int | None]:
        """The storages of a call's inputs and result, and the height that dims say."""
        tensors = [program.tensors[t] for t in (*call.reads, call.operands[-1])]
        held = [tensor for tensor in tensors if tensor.location.space == "arena"]
        storages = tuple(tensor.location.index for tensor in held)
        own = (t.shape[1] for t in held if len(t.shape) == 4 and t.shape[0] == 1)
        self._read(program)
        others = (self._heights[s] for s in storages if s in self._heights)
        return storages, cast("int | None", next(own, next(others, None)))

    def images(
        self, program: Program, call: Call, rule: RowRule
    ) -> tuple[tuple[int, int], ...] | None:
        """Storages of the images that a call reads and writes by rows, with their heights.

        None where a tensor is not all of its storage, or its bytes are no whole rows.
        """
        if id(rule) not in self._agreed:
            windowed = [(k, rule.window.height) for k in rule.windowed]
            alike = (*rule.alike, *rule.outputs(call))
            places = [*windowed, *((k, rule.height) for k in alike)]
            rows = [(program.tensors[call.operands[k]], height) for k, height in places]
            whole = all(
                t.location.space == "arena" and t.location.offset == 0 and t.nbytes % height == 0
                for t, height in rows
            )
            found = tuple((t.location.index, height) for t, height in rows)
            self._agreed[id(rule)] = found if whole else None
        return self._agreed[id(rule)]

    def of(self, program: Program, call: Call, height: int | None) -> RowRule | None:
        """As `rule_of`; `program` may have other steps than when the call was seen first."""
        key = id(call), height
        if key not in self._known:
            self._known[key] = call, rule_of(program, call, height)
        return self._known[key][1]


def _image_heights(tensors: Sequence[Tensor]) -> dict[int, int]:
    """Storage -> rows of the first of its tensors that is one image."""
    found: dict[int, int] = {}
    for tensor in tensors:
        at = tensor.location
        if at.space == "arena" and at.offset == 0 and len(tensor.shape) == 4:
            if tensor.shape[0] == 1:
                found.setdefault(at.index, cast(int, tensor.shape[1]))
    return found


def _single_storages(tensors: Sequence[Tensor]) -> frozenset[int]:
    sizes: dict[int, set[tuple[object, object]]] = {}
    for tensor in tensors:
        at = tensor.location
        if at.space == "arena":
            sizes.setdefault(at.index, set()).add((at.offset, tensor.nbytes))
    return frozenset(s for s, found in sizes.items() if len(found) == 1 and (0,) == min(found)[:1])


def rule_of(program: Program, call: Call, height: int | None) -> RowRule | None:
    """How `call` is done by bands, None where it cannot be.

    `height` is the number of rows of an operand that has the result's elements, where it is known.
    """
    kernel = program.kernels[call.kernel]
    if kernel.rows:
        return _generated(program, call, kernel.rows, height)
    if not kernel.template or kernel.extern or call.n_outputs != 1:
        return None
    op = kernel_operator(kernel.template)
    names = contract(op).attributes
    if op not in _RULES or len(names) != len(call.attrs):
        return None
    if not all(isinstance(size, int) for size in (*call.attrs, call.work)):
        return None
    found = _file(op, kernel)
    attrs = dict(zip(names, cast(Sequence[int], call.attrs), strict=True))
    return _RULES[op](_Seen(program, call, op, found, {**_said(found, kernel), **attrs}, height))


def _generated(
    program: Program, call: Call, parts: tuple[int, ...], height: int | None
) -> RowRule | None:
    """Calls of generated kernels, where a row of the output is whole parts of it (`Kernel.rows`).

    Operands whose rows are whole parts as well are read by rows.
    """
    work, last = call.work, len(call.reads)
    if height is None or not isinstance(work, int) or work % height or call.n_outputs != 1:
        return None
    tensors = [program.tensors[t] for t in call.operands]
    sizes = [prod(cast(Sequence[int], tensor.shape)) for tensor in tensors]
    apart = [
        part > 0 and size % height == 0 and size // height % part == 0
        for part, size in zip(parts, sizes, strict=True)
    ]
    if not apart[last]:
        return None
    windowed = tuple(k for k in range(last) if apart[k] and tensors[k].location.space != "weight")
    return RowRule(Window(1, 1, 1, 0, height), height, windowed, (), work // height)


@lru_cache(maxsize=256)
def _file(op: str, kernel: Kernel) -> KernelFile:
    """The kernel's header, with the settings that the instance has."""
    found = next(k for k in registry.kernels_of(op) if k.stem == kernel.template)
    tuned = {macro for macro, _ in found.tune}
    settings = tuple((macro, int(value)) for macro, value in kernel.defines if macro in tuned)
    return header.parse(found.path, found.stem, settings) if settings else found


def _said(found: KernelFile, kernel: Kernel) -> dict[str, int]:
    """Facts that the instance's macros are."""
    names = {macro: value.text for macro, value in found.params}
    rows = ((names.get(macro, ""), value) for macro, value in kernel.defines)
    return {name: int(value) for name, value in rows if name.isidentifier() and value.isdigit()}


def _windows(seen: _Seen) -> RowRule | None:
    """Convolutions and pooling."""
    a = seen.facts
    reach = (a["kh"] - 1) * a["dh"] + 1
    if a["n"] != 1 or min(a["pt"], a["pb"]) < 0 or max(a["pt"], a["pb"]) >= reach:
        return None
    window = Window(a["sh"], 1, reach, a["pt"], a["h"])
    if seen.work == "n * oh":
        # A row of several planes is not together.
        planes = seen.op == "conv2d_planes" and a["ic"] != 1
        return RowRule(window, a["oh"], () if planes else (0,), seen.alike(2), 1)
    patches = seen.patches(h="in", oh="out", pt="above", pb="below")
    return _blocks(seen, "oh", RowRule(window, a["oh"], (0,), seen.alike(2), 1, patches=patches))


def _pooled(seen: _Seen) -> RowRule | None:
    """Maxima and averages of all pixels, to which each band of the input adds."""
    height = seen.facts.get("h", seen.height)
    if height is None or height == 1 or not seen.moves(0):
        return None
    sums = sums_of(seen.program, seen.call, seen.op, seen.facts, height)
    if sums is None:
        return None
    window, work = Window(1, 1, 1, 0, height), cast(int, seen.call.work)
    # The work is that of a whole image, however many rows a band has.
    return RowRule(window, height, (0,), (), 1, 1, height, work, sums.patches, sums=sums)


def _pooled_or_windows(seen: _Seen) -> RowRule | None:
    """Averages of 8-bit images: one window is all pixels."""
    return _pooled(seen) or _windows(seen)


def _product(seen: _Seen) -> RowRule | None:
    """Products whose rows are pixels."""
    a, height = seen.facts, seen.height
    if height is None or a["b"] != 1 or a["m"] % height or seen.moves(1):
        return None
    rule = RowRule(Window(1, 1, 1, 0, height), height, (0,), seen.alike(2), a["m"] // height)
    if seen.work == "b * m":
        return rule
    names = contract(seen.op).attributes
    patch = Patch(names.index("m"), "out", rule.units)
    rule = RowRule(rule.window, height, (0,), rule.alike, 1, patches=(patch,))
    return _blocks(seen, "m", rule, a["m"] // height)


def _blocks(seen: _Seen, extent: str, rule: RowRule, factor: int = 1) -> RowRule | None:
    """`rule` of a kernel that does blocks of its image; `factor`: its `extent` of a row."""
    formula = seen.kernel.formulas["work"]
    match = _BLOCKS.fullmatch(formula.text)
    if match is None:
        return None
    tile = formula.constants.get(_TILE, 1)
    parts = [Expression(text, formula.constants, formula.lets) for text in match.groups()]
    inner, block, columns = parts

    def value(part: Expression, rows: int) -> int:
        return cast(int, part({**cast(Mapping[str, Fact], seen.facts), extent: rows * factor}))

    found = RowRule(
        rule.window,
        rule.height,
        rule.windowed,
        rule.alike,
        value(inner, tile),
        tile,
        value(block, 1),
        value(columns, 1),
        rule.patches,
        _workspace(seen, extent, factor),
    )
    for rows in (1, 2, 3, 5, 8, rule.height):  # the work is what BAND computes
        tiles = -(-rows // tile)
        computed = -(-tiles * found.units // found.block) * found.columns
        if computed != value(formula, rows):
            return None
    return found


def _workspace(seen: _Seen, extent: str, factor: int) -> Callable[[int, int], int] | None:
    formula = seen.kernel.formulas["workspace"]
    types = _types(seen)
    if not formula.names <= {*seen.facts, *types}:
        return None

    def size(rows: int, read: int) -> int:
        facts: dict[str, Fact] = {**seen.facts, **types, extent: rows * factor}
        if "h" in seen.facts:
            facts["h"] = read
        return int(cast(int, formula(facts)))

    return size


def _types(seen: _Seen) -> dict[str, str]:
    """Type variables of the operands that every call has, as far as those say them."""
    operator = contract(seen.op)
    fixed = [o for o in operator.inputs if o.there.text == "1"]
    tensors = [seen.program.tensors[t] for t in seen.call.reads]
    pairs = [*zip(fixed, tensors, strict=False)]
    pairs.append((operator.outputs[0], seen.program.tensors[seen.call.operands[-1]]))
    return {o.dtype: tensor.dtype for o, tensor in pairs if not o.is_fixed}


def _elements(seen: _Seen) -> RowRule | None:
    """Element by element; an operand of fewer elements is whole."""
    size, height = seen.elements(seen.output), seen.height
    if height is None or seen.call.work != size or size % height:
        return None
    windowed = seen.alike(0)
    if not windowed:
        return None
    return RowRule(Window(1, 1, 1, 0, height), height, windowed, (), size // height)


def _concat(seen: _Seen) -> RowRule | None:
    """Side by side along the channels."""
    height, outer = seen.height, seen.facts["outer"]
    if height is None or outer % height or outer == 1:
        return None
    windowed = tuple(k for k in range(seen.output) if seen.moves(k))
    units = outer * seen.facts["count"] // height
    return RowRule(Window(1, 1, 1, 0, height), height, windowed, (), units)


def _resized(seen: _Seen) -> RowRule | None:
    """Images enlarged by whole factors."""
    a = seen.facts
    if a["n"] != 1 or a.get("nchw", 1) or a["oh"] % a["h"]:
        return None
    up = a["oh"] // a["h"]
    names = codes("resize2d")
    near = seen.kernel.path.stem == "resize2d_nearest"
    scale = a["scale_h"]
    if up == 1 or scale not in (0, bits_of(float(up))) or a["coord"] == names["ALIGN_CORNERS"]:
        return None
    # Not every rounding takes the pixel that covers the place: one more on each side is enough.
    window = Window(1, up, 3, 1, a["h"])
    halves = a["coord"] in (names["HALF_PIXEL"], names["PYTORCH_HALF_PIXEL"])
    if near and (halves or a["round"] == names["FLOOR"]):
        window = Window(1, up, 1, 0, a["h"])
    return RowRule(window, a["oh"], (0,), (), 1)


def _lines(seen: _Seen) -> RowRule | None:
    """Calls that compute each of `outer` lines of the first input on its own."""
    height, outer, work = seen.height, seen.facts["outer"], seen.call.work
    if height is None or outer % height or not isinstance(work, int) or work % outer:
        return None
    windowed = (0,) if seen.moves(0) else ()
    return RowRule(Window(1, 1, 1, 0, height), height, windowed, (), work // height)


def _moved(seen: _Seen) -> RowRule | None:
    """Slices and padding of images."""
    size, dims = seen.elements(seen.output), [seen.facts[f"d{k}"] for k in range(8)]
    axis = next((k for k in range(8) if dims[k] != 1), 8)
    if axis == 8 or dims[axis] != seen.height or not seen.moves(0) or not _keeps(seen, axis):
        return None
    found = (_padded if seen.op == "pad" else _cut)(seen, axis, dims[axis])
    if found is None or size % found[1]:
        return None
    window, height = found
    return RowRule(window, height, (0,), (), size // height)


def _padded(seen: _Seen, axis: int, height: int) -> tuple[Window, int] | None:
    """Window of an image with rows of a constant above and below, and its height."""
    above, below = seen.facts[f"a{axis}"], seen.facts[f"z{axis}"]
    if above == below == 0:
        return Window(1, 1, 1, 0, height), height
    if seen.facts.get("mode") != codes("pad")["CONSTANT"] or min(above, below) < 0:
        return None
    return None if above > _MOST else (Window(1, 1, 1, above, height), height + above + below)


def _cut(seen: _Seen, axis: int, height: int) -> tuple[Window, int] | None:
    """Window of every n-th row of an image, and their number."""
    begin, step, rows = (seen.facts[f"{name}{axis}"] for name in "bso")
    if not 1 <= step <= _MOST or begin > _MOST:
        return None
    return Window(step, 1, begin + 1, 0, height), rows


def _transposed(seen: _Seen) -> RowRule | None:
    """Rows of a permuted tensor, which is read whole unless its rows stay rows."""
    dims = [seen.facts[f"d{k}"] for k in range(8)]
    axes = [seen.facts[f"p{k}"] for k in range(8)]
    axis = next((k for k in range(8) if dims[axes[k]] != 1), 8)
    if axis == 8 or seen.call.work != seen.elements(seen.output):
        return None
    height = dims[axes[axis]]
    stays = prod(dims[: axes[axis]]) == 1
    windowed = (0,) if stays and seen.moves(0) else ()
    units = seen.elements(seen.output) // height
    return RowRule(Window(1, 1, 1, 0, height), height, windowed, (), units)


def _keeps(seen: _Seen, axis: int) -> bool:
    """Whether a slice or padding changes no axis before this one."""
    a = seen.facts
    if seen.op == "pad":
        return not any(a[f"{side}{k}"] for side in "az" for k in range(axis))
    return all((a[f"b{k}"], a[f"s{k}"], a[f"o{k}"]) == (0, 1, a[f"d{k}"]) for k in range(axis))


_RULES: dict[str, Callable[[_Seen], RowRule | None]] = {
    "conv2d": _windows,
    "conv2d_planes": _windows,
    "qconv2d": _windows,
    "pool2d": _windows,
    "qpool2d": _pooled_or_windows,
    "global_pool": _pooled,
    "matmul": _product,
    "qmatmul": _product,
    "unary": _elements,
    "binary": _elements,
    "qbinary": _elements,
    "lut": _elements,
    "cast": _elements,
    "quantize": _elements,
    "dequantize": _elements,
    "concat": _concat,
    "pad": _moved,
    "slice": _moved,
    "softmax": _lines,
    "qsoftmax": _lines,
    "reduce": _lines,
    "layer_norm": _lines,
    "gather": _lines,
    "transpose": _transposed,
    "resize2d": _resized,
}
