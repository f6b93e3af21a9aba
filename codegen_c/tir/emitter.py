"""``emit_prim_func``: one TIR function -> one C file with one kernel."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import tirx
from tvm.ir import TensorLoad

from tvm_megcc.dims import at as known
from tvm_megcc.errors import UnsupportedError

from . import c_sizes, sorting
from .aliasing import aliases, overwritable
from .c_exprs import ExprPrinter
from .c_scalars import storage_type
from .cost import unit_cost
from .flattening import lower
from .fused import FUSED, with_fused_products
from .knobs import USUAL, Knobs
from .parts import part_elements
from .schedule import schedule
from .stmts import StmtPrinter
from .walk import variables, walk

_PLACEHOLDER = "MEGCC_TIR_SYMBOL"
_NAME_LENGTH = 48


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """One kernel and what a caller must know to call it.

    Attributes
    ----------
    symbol : str
        C identifier; equal symbols mean equal source.
    source : str
        A complete C99 file that needs ``megcc_kernel.h`` and, if it says so, ``megcc_math.h`` and
        ``megcc_f16.h``.
    workspace_bytes : int
        Scratch that one call needs, or -1 when it depends on symbolic dims (`workspace_for`).
    work : int
        Extent of the range that ``begin, end`` split, or -1 when it depends on symbolic dims
        (`work_for`).
    symbolic : tuple of str
        Names of the symbolic dims in the order in which the kernel reads them from ``attr``.
    inplace : tuple of int
        Operands whose memory the output may take over.
    rows : tuple of int
        Elements of the smallest part of each operand that some units of the work have to
        themselves (see `parts`), else 0; empty where nothing is known.
    workspace_expr, work_expr : str
        The same two numbers as text over ``s0, s1, ...``, the dims in that order.
    cost_expr : str
        About how many operations a unit of the work takes, in the same form.
    """

    symbol: str
    source: str
    workspace_bytes: int
    work: int
    symbolic: tuple[str, ...]
    workspace_expr: str = "0"
    work_expr: str = "1"
    cost_expr: str = "1"
    inplace: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()

    def workspace_for(self, dims: Sequence[int]) -> int:
        """Scratch bytes for given symbolic dims."""
        return known(c_sizes.evaluate(self.workspace_expr, dims), {})

    def work_for(self, dims: Sequence[int]) -> int:
        """Extent of the work range for given symbolic dims."""
        return known(c_sizes.evaluate(self.work_expr, dims), {})


def emit_prim_func(
    func: tirx.PrimFunc,
    symbol_prefix: str = "megcc_tir",
    knobs: Knobs = USUAL,
    *,
    vectors: bool = False,
) -> GeneratedKernel:
    """Compile `func` to C.

    Parameters
    ----------
    func : tirx.PrimFunc
        As Relax's ``LegalizeOps`` / ``FuseTIR`` make it: its buffers, in order, are ``ptr``.
    symbol_prefix : str
        Start of the symbol, for example ``megcc_tir_`` and the name of the global variable.
        A ``global_symbol`` attribute is appended; digits at the end, by which TVM tells namesakes
        apart, are dropped.
    knobs : Knobs
        How its loops are arranged, where they can be.
    vectors : bool
        Whether innermost loops are written with ``megcc_simd.h``, for machines that have vectors.

    Raises
    ------
    UnsupportedError
        The function contains something that has no C here; the message names both.
    """
    hint = str(func.attrs["global_symbol"]) if func.attrs and "global_symbol" in func.attrs else ""
    name = hint or symbol_prefix
    try:
        return _emit(schedule(func, knobs), name, symbol_prefix, hint, knobs.unroll, vectors)
    except UnsupportedError:
        # A schedule may need what the printer lacks; the plain loops may not.
        return _emit(func, name, symbol_prefix, hint)


def symbolic_vars(func: tirx.PrimFunc) -> tuple[tvm.ir.Var, ...]:
    """The symbolic dims of `func` in the order of ``GeneratedKernel.symbolic``.

    The variables of the buffers' shapes come first, as they appear; then by name the parameters
    that stand in no shape, which TVM gives in an order that changes from process to process.
    """
    found: dict[tvm.ir.Var, None] = {}
    for buffer in (p for p in func.params if _is_buffer(p)):
        for extent in buffer.ty.shape:
            found.update(dict.fromkeys(variables(extent)))
    scalars = (p for p in func.params if not _is_buffer(p))
    return tuple(dict.fromkeys([*found, *sorted(scalars, key=lambda p: str(p.name))]))


def _is_buffer(param: tvm.ir.Var) -> bool:
    return isinstance(param.ty, tirx.BufferType)


def _emit(
    func: tirx.PrimFunc, name: str, prefix: str, hint: str, unroll: int = 1, vectors: bool = False
) -> GeneratedKernel:
    flat = lower(func)
    is_fused = bool(func.attrs) and FUSED in func.attrs
    exprs = ExprPrinter(name)
    dims = symbolic_vars(flat)
    symbols = {var: f"s{k}" for k, var in enumerate(dims)}
    for var, text in symbols.items():
        exprs.bind(var, text, index=True)
        exprs.analyzer.bind(var, tvm.ir.Range(0, 2**31 - 1))
    buffers = [p for p in flat.params if _is_buffer(p)]
    for k, buffer in enumerate(buffers):
        exprs.bind_buffer(buffer, f"p{k}")
        if isinstance(buffer.ty.elem_offset, tvm.ir.Var):
            exprs.bind(buffer.ty.elem_offset, "0", index=True)  # operands start at their pointer
    inplace = overwritable(flat, buffers)
    dead = _never_read(flat, buffers)
    vectors = vectors and not is_fused  # whose results are equal on all machines
    printer = StmtPrinter(exprs, symbols, dead, bool(inplace), unroll, vectors)
    printer.top((with_fused_products(flat) if is_fused else flat).body)
    head = _prologue(flat, buffers, symbols, printer, inplace)
    source = _file(exprs.uses, head + printer.lines)
    symbol = _symbol(prefix, hint, source)
    work = c_sizes.Size(1, "1", "1")
    if printer.parallel is not None:
        work = c_sizes.product([printer.parallel], symbols, exprs)
    scratch = printer.workspace
    return GeneratedKernel(
        symbol=symbol,
        source=source.replace(_PLACEHOLDER, symbol),
        workspace_bytes=-1 if scratch.symbolic else scratch.fixed,
        work=-1 if work.value is None else work.value,
        symbolic=tuple(var.name for var in dims),
        workspace_expr=" + ".join([str(scratch.fixed), *(text for text, _ in scratch.symbolic)]),
        work_expr=work.text,
        cost_expr=unit_cost(flat.body, printer.parallel is not None, symbols, exprs),
        inplace=inplace,
        rows=() if printer.parallel is None else part_elements(flat, buffers),
    )


def _prologue(
    func: tirx.PrimFunc,
    buffers: list[tvm.ir.Var],
    symbols: dict[tvm.ir.Var, str],
    printer: StmtPrinter,
    inplace: tuple[int, ...],
) -> list[str]:
    """Declarations of the operands, the symbolic dims and the temporaries."""
    read, written = _accessed(func, printer)
    lines = []
    for k in range(len(buffers)):
        name = f"p{k}"
        if name not in read | written:
            continue
        ctype = storage_type(str(buffers[k].ty.dtype))
        const = "" if name in written else "const "
        shared = k in inplace or (inplace and name in written)
        restrict = "" if shared else "restrict "
        lines.append(f"  {const}{ctype} *{restrict}{name} = ({const}{ctype} *)ptr[{k}];")
    text = "\n".join(printer.lines + printer.workspace.lines)
    for k, (var, name) in enumerate(symbols.items()):
        if re.search(rf"\b{name}\b", text):
            ctype = "int32_t" if str(var.ty.dtype) == "int32" else "ptrdiff_t"
            lines.append(f"  const {ctype} {name} = attr[{k}];")
    lines += ["  " + line for line in printer.workspace.lines]
    body = "\n".join(lines + printer.lines)
    unused = [
        p for p in ("ptr", "attr", "workspace", "begin", "end") if not re.search(rf"\b{p}\b", body)
    ]
    return lines + [f"  (void){p};" for p in unused]


def _never_read(func: tirx.PrimFunc, params: list[tvm.ir.Var]) -> set[tvm.ir.Var]:
    """Temporaries that are only written, under all their names (results that nobody asked for)."""
    alias = aliases(func)
    read: set[tvm.ir.Var] = set()
    owned: set[tvm.ir.Var] = set()
    for node in walk(func.body):
        if isinstance(node, tirx.AllocBuffer):
            owned.add(node.buffer)
        elif isinstance(node, TensorLoad):
            read.add(alias.get(node.source, node.source))
        elif isinstance(node, tirx.Evaluate):  # calls take buffers by their address
            read.update(alias.get(v, v) for v in variables(node.value))
    unread = owned - read - set(params)
    return unread | {name for name, owner in alias.items() if owner in unread}


def _accessed(func: tirx.PrimFunc, printer: StmtPrinter) -> tuple[set[str], set[str]]:
    read: set[str] = set()
    written: set[str] = set()

    for node in walk(func.body):
        if isinstance(node, TensorLoad):
            read.add(printer.exprs.buffer(node.source))
        elif isinstance(node, tirx.BufferStore) and node.buffer not in printer.dead:
            written.add(printer.exprs.buffer(node.buffer))
        elif isinstance(node, tirx.Evaluate) and sorting.is_sort(node.value):
            written |= {printer.exprs.buffer(v) for v in sorting.written(node.value)}
            read.add(printer.exprs.buffer(sorting.read(node.value)))
    return read, written


def _file(uses: set[str], body: list[str]) -> str:
    includes = ["megcc_kernel.h", *sorted(uses)]
    lines = ["// Generated by tvm_megcc from TVM's legalised TIR. Do not edit."]
    lines += [f'#include "{header}"' for header in includes]
    lines += [
        "",
        f"MEGCC_FAST_CODE void {_PLACEHOLDER}(void *const *ptr, const int32_t *attr,",
        "    void *workspace, int32_t begin, int32_t end);",
        "",
        f"void {_PLACEHOLDER}(void *const *ptr, const int32_t *attr, void *workspace,",
        "    int32_t begin, int32_t end) {",
        *body,
        "}",
        "",
    ]
    return "\n".join(lines)


def _symbol(prefix: str, hint: str, source: str) -> str:
    """``prefix_hint_hash``: readable, and a function of the source."""
    readable = re.sub(r"[^0-9A-Za-z_]+", "_", f"{prefix}_{hint}" if hint else prefix)
    readable = re.sub(r"_?\d+$", "", readable[:_NAME_LENGTH].rstrip("_"))
    return f"{readable}_{hashlib.sha256(source.encode()).hexdigest()[:10]}"
