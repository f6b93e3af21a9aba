"""TVM's sort operators, calls of ``tvm.contrib.sort.*``, become loops over ``megcc_sort.h``."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm.ir import Call, StringImm

from . import c_sizes
from .body import Body
from .c_scalars import HALF, nbytes, short, value_type
from .walk import variables

_PREFIX = "tvm.contrib.sort."
#: Up to so many of a line are held in order while it is read; of more the line is sorted.
_FEW = 16
#: ``MEGCC_RADIX_FEWEST`` for each byte of an element.
RADIX_FEWEST = 64
#: Name -> what its tensors are; those of ``topk`` follow from an argument.
_ROLES: dict[str, tuple[str, ...]] = {
    "sort": ("data", "values"),
    "argsort": ("data", "indices"),
    "argsort_nms": ("data", "counts", "indices"),
}


def is_sort(e: tvm.ir.Expr) -> bool:
    """Whether `e` is a call that `print_sort` prints."""
    if not isinstance(e, Call) or getattr(e.op, "name", "") != "tirx.tvm_call_packed":
        return False
    name = e.args[0].value if isinstance(e.args[0], StringImm) else ""
    return name.removeprefix(_PREFIX) in (*_ROLES, "topk") and name.startswith(_PREFIX)


@dataclass(frozen=True)
class _Array:
    """A tensor of the call: its buffer's C name, dtype and shape."""

    name: str
    dtype: str
    shape: tuple[tvm.ir.Expr, ...]


def _array(body: Body, e: Call) -> _Array:
    owner = variables(e.args[0])[0]
    dtype = str(owner.ty.dtype)
    shape = tuple(e.args[1].args)
    return _Array(body.exprs.buffer(owner), dtype, shape)


def print_sort(body: Body, e: Call, *, work: bool) -> tvm.ir.Expr:
    """Print the loop over lines; return its extent, which is the work range if `work` says so."""
    name = e.args[0].value.removeprefix(_PREFIX)
    arrays = [_array(body, a) for a in e.args[1:] if isinstance(a, Call)]
    scalars = [a for a in e.args[1:] if not isinstance(a, Call)]
    if name == "topk":
        axis, kind, ascend = scalars[1], scalars[2].value, scalars[3]
        roles = ("data", *(("values", "indices") if kind == "both" else (kind,)))
    else:
        axis, ascend = scalars[:2]
        roles = _ROLES[name]
    tensors = dict(zip(roles, arrays, strict=True))
    descending = not int(ascend.value)
    few = name == "topk"
    return _lines(body, tensors, int(axis.value) % len(arrays[0].shape), descending, few, work)


def _lines(
    body: Body, tensors: dict[str, _Array], axis: int, descending: bool, few: bool, work: bool
) -> tvm.ir.Expr:
    """`few`: whether only the first of each line are wanted, which may be held while it is read."""
    exprs = body.exprs
    exprs.uses.add("megcc_sort.h")
    data, counts = tensors["data"], tensors.get("counts")
    values, indices = tensors.get("values"), tensors.get("indices")

    def size(extents: tuple[tvm.ir.Expr, ...]) -> c_sizes.Size:
        return c_sizes.product(list(extents), body.symbols, exprs)

    behind, length = size(data.shape[axis + 1 :]), size(data.shape[axis : axis + 1])
    inner = "1" if behind.value == 0 else behind.c  # no line then, but C must not divide by 0
    others = data.shape[:axis] + data.shape[axis + 1 :]
    result = values or indices
    assert result is not None
    wanted = size(result.shape[axis : axis + 1])
    kept = wanted.c
    few = few and wanted.value is not None and 0 < wanted.value <= _FEW
    order, scratch = body.fresh("t"), body.fresh("t")
    for name in (order,) if few else (order, scratch):
        body.workspace.place(name, "int32_t", wanted if few else length, 4)
    line, base, out, item = (body.fresh(k) for k in ("i", "v", "v", "i"))
    first, last = ("begin", "end") if work else ("0", size(others).c)
    body.put(f"for (ptrdiff_t {line} = {first}; {line} < {last}; ++{line}) {{")
    start = f"{line} / {inner} * {inner}"
    body.put(f"  const ptrdiff_t {base} = {start} * {length.c} + {line} % {inner};")
    body.put(f"  const ptrdiff_t {out} = {start} * {kept} + {line} % {inner};")
    used = f"{counts.name}[{line}]" if counts else f"(int32_t)({length.c})"
    text = f"{data.name} + {base}, {inner}, {used}"
    if few:
        text = f"topk_{short(data.dtype)}({text}, {kept}, {int(descending)}, {order})"
    else:
        counted, bytes_ = "NULL", nbytes(data.dtype)
        if length.value is None or length.value >= RADIX_FEWEST * bytes_:
            counted = body.fresh("t")
            body.workspace.place(counted, "int32_t", c_sizes.of(256 * bytes_), 4)
        orders = f"{int(descending)}, {order}, {scratch}, {counted}"
        text = f"argsort_{short(data.dtype)}({text}, {orders})"
    body.put(f"  megcc_{text};")
    if counts:  # what lies behind the counted part stays where it is
        body.put(f"  for (ptrdiff_t {item} = {used}; {item} < {kept}; ++{item}) {{")
        body.put(f"    {order}[{item}] = (int32_t){item};")
        body.put("  }")
    body.put(f"  for (ptrdiff_t {item} = 0; {item} < {kept}; ++{item}) {{")
    at = f"[{out} + {item} * {inner}]"
    if values:
        element = f"{data.name}[{base} + {order}[{item}] * {inner}]"
        body.put(f"    {values.name}{at} = {element};")
    if indices:
        text = f"({value_type(indices.dtype)}){order}[{item}]"
        if indices.dtype in HALF:
            text = exprs.to_storage(text, indices.dtype)
        body.put(f"    {indices.name}{at} = {text};")
    body.put("  }")
    body.put("}")
    return c_sizes.elements(others)


def written(e: Call) -> list[tvm.ir.Var]:
    """The buffers that a sort call writes."""
    name = e.args[0].value.removeprefix(_PREFIX)
    owners = [variables(a.args[0])[0] for a in e.args[1:] if isinstance(a, Call)]
    return owners[1:] if name != "argsort_nms" else owners[2:]


def read(e: Call) -> tvm.ir.Var:
    """The buffer that a sort call sorts."""
    return variables(e.args[1].args[0])[0]
