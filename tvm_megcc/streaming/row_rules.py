"""Which rows of its inputs a call needs for rows of its output, and how it computes only those.

A table by operator. Enters: a call of a program. Leaves: its `RowRule`, or None where the call
cannot be done by bands of rows, as it reads all of its input before it gives a row. Heights and
widths of one image may follow from the shapes; what a window is may not, nor may those of several.
The result of a global pooling has no rows: each band of the input adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.program import (
    Call,
    Kernel,
    Patch,
    Program,
    Tensor,
    Window,
    data_symbols,
)
from tvm_megcc.dims import Size, Undecided, ceildiv, fixed, is_static, product, quotient, symbols
from tvm_megcc.kernels import header, registry
from tvm_megcc.kernels.contract import codes, contract
from tvm_megcc.kernels.expression import Expression, Fact
from tvm_megcc.kernels.kernel_file import KernelFile, bits_of
from tvm_megcc.streaming.global_bands import Sums, sums_of

#: Work of kernels that do blocks of pixels or rows at a time.
_BLOCKS = re.compile(r"ceil\((pixels|rows|tiles), (\w+)\) \* (.+)")

#: Macro of kernels that compute tiles of so many rows and columns.
_TILE = "MEGCC_WINOGRAD_M"

#: Words of a band whose sizes follow from the shapes, but for those that each one has.
_MOST_WORDS = 224

#: Number of images, and the rows of each, of which a tensor is made.
Extent = tuple[int, Size]

#: Rows that a window of copied rows moves on by, reaches or begins above the image, at most.
_MOST = 64


@dataclass(frozen=True, slots=True)
class RowRule:
    """How one call is done by bands.

    Attributes
    ----------
    window : Window
        Input rows of an output row; one for one where the call is element by element.
    height : Size
        Rows of the output, of one image; with `sums`, of the input.
    windowed : tuple of int
        Positions of the operands whose rows are the window's.
    alike : tuple of int
        Positions of inputs whose rows are the output's.
    units, tile, block, columns, patches
        As in `tvm_megcc.core.program.Rows`; a band is a multiple of `tile`.
    workspace : callable
        Rows of output and of input of a band -> bytes of workspace.
    images : int
        Images that the call has, one after the other; a band is of one of them.
    constants : tuple of (int, int)
        Attributes that a call of one image has, by position, where it sees the band as an image.
    sums : Sums, optional
        The call of a band where the result is of all rows: the rows of a band are then the input's.
    """

    window: Window
    height: Size
    windowed: tuple[int, ...]
    alike: tuple[int, ...]
    units: Size
    tile: int = 1
    block: int = 0
    columns: Size = 1
    patches: tuple[Patch, ...] = ()
    workspace: Callable[[int, int], Size] | None = None
    images: int = 1
    constants: tuple[tuple[int, int], ...] = ()
    sums: Sums | None = None

    def outputs(self, call: Call) -> tuple[int, ...]:
        """Positions of the call's results whose rows are those of a band."""
        return () if self.sums is not None else (len(call.reads),)

    @property
    def words(self) -> int:
        """Words of the instruction, but for those that do not depend on the rule."""
        return 5 * (len(self.windowed) + len(self.alike) + 1) + 2 * len(self.patches)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A call with what its kernel's header says."""

    program: Program
    call: Call
    op: str
    kernel: KernelFile
    facts: Mapping[str, Any]  # attributes (sizes), and codes that the kernel's macros say
    extent: Extent | None  # of an operand, where another call said it or its dims do

    @property
    def output(self) -> int:
        """Position of the result."""
        return len(self.call.reads)

    @property
    def images(self) -> int:
        return 1 if self.extent is None else self.extent[0]

    @property
    def height(self) -> Size | None:
        return None if self.extent is None else self.extent[1]

    def share(self, size: Size) -> Size | None:
        """A row's share of a size of all images; None where it is none, or no rows are known."""
        return None if self.extent is None else _each(size, self.extent[0] * self.extent[1])

    def one_for_one(self, windowed: tuple[int, ...], work: Size) -> RowRule | None:
        """The rule of a call with as many rows as its operands, each a part of the work."""
        units = self.share(work)
        if self.extent is None or units is None:
            return None
        images, height = self.extent
        window = Window(1, 1, 1, 0, height)
        return RowRule(window, height, windowed, (), units, images=images)

    @property
    def work(self) -> str:
        return self.kernel.formulas["work"].text

    def elements(self, operand: int) -> Size:
        return product(self.program.tensors[self.call.operands[operand]].shape)

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

    def __init__(self, any_size: bool = False) -> None:
        """`any_size`: groups are sought at some sizes for a program of all sizes."""
        self.any_size = any_size
        self._known: dict[tuple[int, Extent | None], tuple[Call, RowRule | None]] = {}
        self._images: dict[int, tuple[Call, tuple[int, ...], Extent | None]] = {}
        self._agreed: dict[int, tuple[tuple[int, Extent], ...] | None] = {}
        self._tensors: Sequence[Tensor] = ()
        self._extents: dict[int, Extent] = {}
        self._single: frozenset[int] = frozenset()

    def _read(self, program: Program) -> None:
        """Find what storages are, once for tensors."""
        if self._tensors is not program.tensors:
            self._tensors = program.tensors
            self._extents = _extents(program.tensors)
            self._single = _single_storages(program.tensors)

    def single(self, program: Program) -> frozenset[int]:
        """Storages whose tensors are all views of all of it."""
        self._read(program)
        return self._single

    def extent(self, program: Program, call: Call, extents: Mapping[int, Extent]) -> Extent | None:
        """Images and rows of a call's result where they are those of an operand, or of its view.

        `extents` are those of storages that operators say themselves.
        """
        if id(call) not in self._images:
            self._images[id(call)] = call, *self._image(program, call)
        _, storages, extent = self._images[id(call)]
        return next((extents[s] for s in storages if s in extents), extent)

    def _image(self, program: Program, call: Call) -> tuple[tuple[int, ...], Extent | None]:
        """The storages of a call's inputs and result, and the extent that dims say."""
        tensors = [program.tensors[t] for t in (*call.reads, call.operands[-1])]
        held = [tensor for tensor in tensors if tensor.location.space == "arena"]
        storages = tuple(tensor.location.index for tensor in held)
        own = (t.shape[:2] for t in held if _is_image(t))
        self._read(program)
        others = (self._extents[s] for s in storages if s in self._extents)
        return storages, cast("Extent | None", next(own, next(others, None)))

    def images(
        self, program: Program, call: Call, rule: RowRule
    ) -> tuple[tuple[int, Extent], ...] | None:
        """Storages of the images that a call reads and writes by rows, with their extents.

        None where a tensor is not all of its storage, or its bytes are no whole rows.
        """
        if id(rule) not in self._agreed:
            windowed = [(k, rule.window.height) for k in rule.windowed]
            alike = (*rule.alike, *rule.outputs(call))
            places = [*windowed, *((k, rule.height) for k in alike)]
            rows = [(program.tensors[call.operands[k]], height) for k, height in places]
            whole = all(
                (t.location.space, t.location.offset) == ("arena", 0)
                and _each(t.nbytes, rule.images * height) is not None
                for t, height in rows
            )
            found = tuple((t.location.index, (rule.images, height)) for t, height in rows)
            self._agreed[id(rule)] = found if whole else None
        return self._agreed[id(rule)]

    def of(self, program: Program, call: Call, extent: Extent | None) -> RowRule | None:
        """As `rule_of`; `program` may have other steps than when the call was seen first."""
        key = id(call), extent
        if key not in self._known:
            self._known[key] = call, rule_of(program, call, extent)
        return self._known[key][1]


def _extents(tensors: Sequence[Tensor]) -> dict[int, Extent]:
    """Storage -> images and rows of the first of its tensors that has them."""
    found: dict[int, Extent] = {}
    for tensor in tensors:
        at = tensor.location
        if at.space == "arena" and at.offset == 0 and _is_image(tensor):
            found.setdefault(at.index, cast(Extent, tensor.shape[:2]))
    return found


def _single_storages(tensors: Sequence[Tensor]) -> frozenset[int]:
    sizes: dict[int, set[tuple[object, object]]] = {}
    for tensor in tensors:
        at = tensor.location
        if at.space == "arena":
            sizes.setdefault(at.index, set()).add((at.offset, tensor.nbytes))
    return frozenset(s for s, found in sizes.items() if len(found) == 1 and (0,) == min(found)[:1])


def _is_image(tensor: Tensor) -> bool:
    """Whether dims are those of images whose number is known."""
    return len(tensor.shape) == 4 and isinstance(tensor.shape[0], int)


def _each(size: Size, rows: Size) -> Size | None:
    """A row's share of a size, None where it is no whole number, or nothing says that it is."""
    if isinstance(size, int) and isinstance(rows, int):
        return size // rows if rows and size % rows == 0 else None
    return quotient(size, rows)


def rule_of(program: Program, call: Call, extent: Extent | None) -> RowRule | None:
    """How `call` is done by bands, None where it cannot be.

    `extent` is that of an operand that has the result's elements, where it is known.
    """
    sizes = (call.work, *call.attrs, *(d for t in call.operands for d in program.tensors[t].shape))
    if is_static(sizes):
        return _rule(program, call, extent)
    if any(symbols(size) & data_symbols(program) for size in sizes):
        return None
    try:
        rule = _rule(program, call, extent)
    except Undecided:
        return None
    if rule is None or rule.images != 1:
        return None
    return None if rule.words + len(call.operands) + len(call.attrs) > _MOST_WORDS else rule


def _rule(program: Program, call: Call, extent: Extent | None) -> RowRule | None:
    kernel = program.kernels[call.kernel]
    if extent is not None and 0 in extent:
        return None
    if kernel.rows:
        return _generated(program, call, kernel.rows, extent)
    if not kernel.template or kernel.extern or call.n_outputs != 1:
        return None
    op = kernel_operator(kernel.template)
    names = contract(op).attributes
    if op not in _RULES or len(names) != len(call.attrs):
        return None
    found = _file(op, kernel)
    attrs = dict(zip(names, call.attrs, strict=True))
    return _RULES[op](_Seen(program, call, op, found, {**_said(found, kernel), **attrs}, extent))


def _generated(
    program: Program, call: Call, parts: tuple[int, ...], extent: Extent | None
) -> RowRule | None:
    """Calls of generated kernels, where a row of the output is whole parts of it (`Kernel.rows`).

    Operands whose rows are whole parts as well are read by rows.
    """
    last = len(call.reads)
    if extent is None or call.n_outputs != 1:
        return None
    images, height = extent
    units = _each(call.work, images * height)
    if units is None:
        return None
    tensors = [program.tensors[t] for t in call.operands]
    rows = [_each(product(tensor.shape), images * height) for tensor in tensors]
    apart = [
        part > 0 and row is not None and _each(row, part) is not None
        for part, row in zip(parts, rows, strict=True)
    ]
    if not apart[last]:
        return None
    windowed = tuple(k for k in range(last) if apart[k] and tensors[k].location.space != "weight")
    return RowRule(Window(1, 1, 1, 0, height), height, windowed, (), units, images=images)


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
    reach = fixed((a["kh"] - 1) * a["dh"] + 1)
    if a["n"] < 1 or min(a["pt"], a["pb"]) < 0 or max(a["pt"], a["pb"]) >= reach:
        return None
    window = Window(fixed(a["sh"]), 1, reach, fixed(a["pt"]), a["h"])
    rule = RowRule(window, a["oh"], (0,), seen.alike(2), 1, images=a["n"])
    if seen.work == "n * oh":
        # A row of several planes is not together.
        planes = seen.op == "conv2d_planes" and a["ic"] != 1 and not a["lines"]
        return replace(rule, windowed=()) if planes else rule
    patches = seen.patches(h="in", oh="out", pt="above", pb="below")
    one = ((contract(seen.op).attributes.index("n"), 1),)
    seen = replace(seen, facts={**a, "n": 1})
    return _blocks(seen, "oh", replace(rule, patches=patches, constants=one))


def _pooled(seen: _Seen) -> RowRule | None:
    """Maxima and averages of all pixels, to which each band of the input adds."""
    height = seen.facts.get("h", seen.height)
    if height is None or height == 1 or not seen.moves(0):
        return None
    if not is_static((height, seen.call.work, *seen.call.attrs)):
        return None
    sums = sums_of(seen.program, seen.call, seen.op, seen.facts, height)
    if sums is None:
        return None
    window, work = Window(1, 1, 1, 0, height), seen.call.work
    # The work is that of a whole image, however many rows a band has.
    return RowRule(window, height, (0,), (), 1, 1, height, work, sums.patches, sums=sums)


def _pooled_or_windows(seen: _Seen) -> RowRule | None:
    """Averages of 8-bit images: one window is all pixels."""
    return _pooled(seen) or _windows(seen)


def _product(seen: _Seen) -> RowRule | None:
    """Products whose rows are pixels."""
    a, rule = seen.facts, seen.one_for_one((0,), seen.facts["m"])
    if rule is None or a["b"] != 1 or seen.moves(1):
        return None
    rule = replace(rule, alike=seen.alike(2))
    if seen.work == "b * m":
        return rule
    names = contract(seen.op).attributes
    patch = Patch(names.index("m"), "out", rule.units)
    return _blocks(seen, "m", replace(rule, units=1, patches=(patch,)), patch.factor)


def _blocks(seen: _Seen, extent: str, rule: RowRule, factor: Size = 1) -> RowRule | None:
    """`rule` of a kernel that does blocks of its image; `factor`: its `extent` of a row."""
    formula = seen.kernel.formulas["work"]
    match = _BLOCKS.fullmatch(formula.text)
    if match is None:
        return None
    tile = formula.constants.get(_TILE, 1)
    parts = [Expression(text, formula.constants, formula.lets) for text in match.groups()]
    inner, block, columns = parts

    def value(part: Expression, rows: Size) -> Size:
        return cast(Size, part({**seen.facts, extent: rows * factor}))

    found = replace(
        rule,
        units=value(inner, tile),
        tile=tile,
        block=fixed(value(block, 1)),
        columns=value(columns, 1),
        workspace=_workspace(seen, extent, factor),
    )
    for rows in (1, 2, 3, 5, 8, rule.height):  # the work is what BAND computes
        tiles = ceildiv(rows, tile)
        computed = ceildiv(tiles * found.units, found.block) * found.columns
        if computed != value(formula, rows):
            return None
    return found


def _workspace(seen: _Seen, extent: str, factor: Size) -> Callable[[int, int], Size] | None:
    formula = seen.kernel.formulas["workspace"]
    types = _types(seen)
    if not formula.names <= {*seen.facts, *types}:
        return None

    def size(rows: int, read: int) -> Size:
        facts: dict[str, Fact] = {**seen.facts, **types, extent: rows * factor}
        if "h" in seen.facts:
            facts["h"] = read
        return cast(Size, formula(facts))

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
    size, windowed = seen.elements(seen.output), seen.alike(0)
    if seen.call.work != size or not windowed:
        return None
    return seen.one_for_one(windowed, size)


def _concat(seen: _Seen) -> RowRule | None:
    """Side by side along the channels."""
    outer = seen.facts["outer"]
    if seen.share(outer) is None or outer == 1:
        return None
    windowed = tuple(k for k in range(seen.output) if seen.moves(k))
    return seen.one_for_one(windowed, outer * seen.facts["count"])


def _resized(seen: _Seen) -> RowRule | None:
    """Images enlarged by whole factors."""
    a = seen.facts
    up = _each(a["oh"], a["h"])
    if a["n"] < 1 or a.get("nchw", 1) or not isinstance(up, int):
        return None
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
    return RowRule(window, a["oh"], (0,), (), 1, images=a["n"])


def _lines(seen: _Seen) -> RowRule | None:
    """Calls that compute each of `outer` lines of the first input on its own."""
    outer, work = seen.facts["outer"], seen.call.work
    if seen.share(outer) is None or _each(work, outer) is None:
        return None
    return seen.one_for_one((0,) if seen.moves(0) else (), work)


def _moved(seen: _Seen) -> RowRule | None:
    """Slices and padding of images."""
    size, dims = seen.elements(seen.output), [seen.facts[f"d{k}"] for k in range(8)]
    axes = _axes_of_rows(dims, seen.images)
    if not axes or dims[axes[0]] != seen.height or not seen.moves(0) or not _keeps(seen, axes[0]):
        return None
    found = (_padded if seen.op == "pad" else _cut)(seen, axes[0], dims[axes[0]])
    units = None if found is None else _each(size, seen.images * found[1])
    if found is None or units is None:
        return None
    window, height = found
    return RowRule(window, height, (0,), (), units, images=seen.images)


def _axes_of_rows(dims: Sequence[Size], images: int) -> list[int]:
    """Axes of more than one element behind that of the images, where there are several."""
    axes = [k for k, size in enumerate(dims) if size != 1]
    if images == 1:
        return axes
    return axes[1:] if axes and dims[axes[0]] == images else []


def _padded(seen: _Seen, axis: int, height: Size) -> tuple[Window, Size] | None:
    """Window of an image with rows of a constant above and below, and its height."""
    above, below = fixed(seen.facts[f"a{axis}"]), seen.facts[f"z{axis}"]
    if above == below == 0:
        return Window(1, 1, 1, 0, height), height
    if seen.facts.get("mode") != codes("pad")["CONSTANT"] or min(above, below) < 0:
        return None
    return None if above > _MOST else (Window(1, 1, 1, above, height), height + above + below)


def _cut(seen: _Seen, axis: int, height: Size) -> tuple[Window, Size] | None:
    """Window of every n-th row of an image, and their number."""
    begin, step = (fixed(seen.facts[f"{name}{axis}"]) for name in "bs")
    rows = seen.facts[f"o{axis}"]
    if not 1 <= step <= _MOST or begin > _MOST:
        return None
    return Window(step, 1, begin + 1, 0, height), rows


def _transposed(seen: _Seen) -> RowRule | None:
    """Rows of a permuted tensor, which is read whole unless its rows stay rows."""
    dims = [seen.facts[f"d{k}"] for k in range(8)]
    axes = [seen.facts[f"p{k}"] for k in range(8)]
    given = seen.program.tensors[seen.call.reads[0]]
    takes_dims = seen.extent is None and _is_image(given)
    images = cast(int, given.shape[0]) if takes_dims else seen.images
    rows = _axes_of_rows([dims[axis] for axis in axes], images)
    if not rows or seen.call.work != seen.elements(seen.output):
        return None
    axis, leading = axes[rows[0]], 1 if images == 1 else 2
    read, made = ([a for a in order if dims[a] != 1][:leading] for order in (range(8), axes))
    windowed = (0,) if read == made and seen.moves(0) else ()
    seen = replace(seen, extent=(images, dims[axis]))
    return seen.one_for_one(windowed, seen.elements(seen.output))


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
