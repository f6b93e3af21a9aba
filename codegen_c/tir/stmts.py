"""Flat TIR statements -> C statements, with the kernel's temporaries laid out.

Buffers of at most `STACK_BYTES` constant bytes live on the C stack, the others in the workspace,
each at its own 64-byte aligned offset.
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad

from . import c_sizes, sorting
from .body import Body
from .c_exprs import ExprPrinter, bare
from .c_scalars import HALF, nbytes, storage_type, value_type
from .indices import dtype_of
from .walk import walk

#: Largest temporary that is put on the C stack.
STACK_BYTES = 256


class StmtPrinter(Body):
    """Prints the statements of one function into `lines`.

    ``parallel`` is the extent of the outermost loop when that loop is the kernel's work range.
    ``ivdep`` says that no iteration reads what another one writes, although pointers may be equal;
    ``unroll``, how many turns of an innermost loop the C compiler is told to take at once.
    """

    def __init__(
        self,
        exprs: ExprPrinter,
        symbols: dict[tvm.ir.Var, str],
        dead: set[tvm.ir.Var],
        ivdep: bool = False,
        unroll: int = 1,
    ) -> None:
        super().__init__(exprs, symbols)
        self.dead = dead
        self.ivdep = ivdep
        self.unroll = unroll
        self.parallel: tvm.ir.Expr | None = None
        self._in_promoted = False  # within a loop whose accumulator is a scalar

    def top(self, body: tirx.Stmt) -> None:
        """Print a whole function body and decide what its work range is."""
        parts = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
        declared = [p for p in parts if isinstance(p, (tirx.DeclBuffer, tirx.Bind))]
        (only,) = rest if len(rest := [p for p in parts if p not in declared]) == 1 else (None,)
        if isinstance(only, tirx.For) and _splits(only):
            self.parallel = only.extent
        elif isinstance(only, tirx.Evaluate) and sorting.is_sort(only.value):
            for part in declared:
                self.stmt(part)
            self.parallel = sorting.print_sort(self, only.value, work=True)
            return
        else:
            self.put("if (begin >= end) return;")
        self.stmt(body)

    # -- statements ----------------------------------------------------------------------------

    def stmt(self, s: tirx.Stmt) -> None:
        name = f"_{type(s).__name__.lower()}"
        handler = getattr(self, name, None)
        if handler is None:
            raise self.exprs.unsupported(f"no C for a {type(s).__name__} statement")
        handler(s)

    def _block(self, s: tirx.Stmt) -> None:
        self.indent += 1
        self.stmt(s)
        self.indent -= 1
        self.put("}")

    def _seqstmt(self, s: tirx.SeqStmt) -> None:
        for part in s.seq:
            self.stmt(part)

    def _for(self, s: tirx.For) -> None:
        if s.kind == tirx.ForKind.THREAD_BINDING:
            raise self.exprs.unsupported("a loop bound to a GPU thread")
        dtype = dtype_of(s.loop_var)
        name = self.fresh("i")
        ctype = "int32_t" if dtype == "int32" else "ptrdiff_t"
        self.exprs.analyzer.bind(s.loop_var, tvm.ir.Range.from_min_extent(s.min, s.extent))
        first, last = self.exprs.index(s.min), self._end(s)
        if self.parallel is not None and self.indent == 1 and s.kind == tirx.ForKind.PARALLEL:
            first, last = "begin", "end"
        step = self.exprs.index(s.step) if s.step is not None else "1"
        advance = f"++{name}" if step == "1" else f"{name} += {step}"
        self.exprs.bind(s.loop_var, name, index=True)
        accumulator = self._promote(s)
        if self.ivdep:
            self.put("MEGCC_IVDEP")
        if self.unroll > 1 and not any(isinstance(node, tirx.For) for node in walk(s.body)):
            self.exprs.uses.add("megcc_unroll.h")
            self.put(f"MEGCC_UNROLL({self.unroll})")
        self.put(f"for ({ctype} {name} = {first}; {name} < {last}; {advance}) {{")
        self._block(s.body)
        if accumulator is not None:
            store, value = accumulator
            self.exprs.registers.pop(self.exprs.buffer(store.buffer), None)
            dtype = str(store.buffer.ty.dtype)
            value = self.exprs.to_storage(value, dtype) if dtype in HALF else value
            self.put(f"{self._target(store)} = {value};")
            self._in_promoted = False
            self.indent -= 1
            self.put("}")

    def _end(self, s: tirx.For) -> str:
        zero = isinstance(s.min, tirx.IntImm) and s.min.value == 0
        return self.exprs.index(s.extent if zero else s.min + s.extent)

    def _promote(self, loop: tirx.For) -> tuple[tirx.BufferStore, str] | None:
        """Keep ``B[k] = f(B[k], ...)`` in a scalar while `loop` and its only children run."""
        inner: tirx.Stmt = loop
        variables = []
        while isinstance(inner, tirx.For):
            variables.append(inner.loop_var)
            inner = inner.body
        if self._in_promoted or not isinstance(inner, tirx.BufferStore):
            return None
        if inner.buffer in self.dead or not _accumulates(inner, variables, self.exprs):
            return None
        dtype = str(inner.buffer.ty.dtype)
        name = self.fresh("acc")
        self.put("{")
        self.indent += 1
        first = self.exprs.load(inner.buffer, list(inner.indices))
        self.put(f"{value_type(dtype)} {name} = {first};")
        self._in_promoted = True
        self.exprs.registers[self.exprs.buffer(inner.buffer)] = name
        return inner, name

    def _target(self, store: tirx.BufferStore) -> str:
        return f"{self.exprs.buffer(store.buffer)}[{self.exprs.subscript(list(store.indices))}]"

    def _bufferstore(self, s: tirx.BufferStore) -> None:
        if s.buffer in self.dead:
            return
        held = self.exprs.registers.get(self.exprs.buffer(s.buffer))
        if held is not None:
            self.put(f"{held} = {bare(self.exprs.value(s.value))};")
            return
        target, value = self._target(s), self.exprs.stored(s.value, str(s.buffer.ty.dtype))
        self.put(f"{target} = {bare(value)};")

    def _ifthenelse(self, s: tirx.IfThenElse) -> None:
        self.put(f"if ({bare(self.exprs.condition(s.condition))}) {{")
        self._block(s.then_case)
        if s.else_case is not None:
            self.lines[-1] += " else {"
            self._block(s.else_case)

    def _while(self, s: tirx.While) -> None:
        self.put(f"while ({bare(self.exprs.condition(s.condition))}) {{")
        self._block(s.body)

    def _break(self, s: tirx.Break) -> None:
        self.put("break;")

    def _continue(self, s: tirx.Continue) -> None:
        self.put("continue;")

    def _bind(self, s: tirx.Bind) -> None:
        dtype = dtype_of(s.value)
        name = self.fresh("v")
        if self.exprs.is_index(s.value):
            ctype, text = ("int32_t", "ptrdiff_t")[dtype == "int64"], self.exprs.index(s.value)
            self.exprs.bind(s.var, name, index=True)
        else:
            ctype, text = value_type(dtype), self.exprs.value(s.value)
            self.exprs.bind(s.var, name, index=False)
        self.put(f"const {ctype} {name} = {bare(text)};")

    def _attrstmt(self, s: tirx.AttrStmt) -> None:
        self.stmt(s.body)

    def _assertstmt(self, s: tirx.AssertStmt) -> None:
        body = getattr(s, "body", None)
        if body is not None:
            self.stmt(body)

    def _evaluate(self, s: tirx.Evaluate) -> None:
        e = s.value
        if isinstance(e, (tirx.IntImm, tirx.FloatImm)):
            return
        if isinstance(e, Call) and getattr(e.op, "name", "") in ("tirx.assume", "tirx.likely"):
            return
        if sorting.is_sort(e):
            sorting.print_sort(self, e, work=False)
            return
        self.put(f"(void){self.exprs.value(e)};")

    # -- buffers -------------------------------------------------------------------------------

    def _declbuffer(self, s: tirx.DeclBuffer) -> None:
        data = s.data
        while isinstance(data, Call) and data.args:
            data = data.args[0]
        if not isinstance(data, tvm.ir.Var):
            raise self.exprs.unsupported(f"buffer {s.buffer.name} is not a plain alias")
        offset = s.buffer.ty.elem_offset
        if isinstance(offset, tirx.IntImm) and offset.value != 0:
            raise self.exprs.unsupported(f"buffer {s.buffer.name} starts at element {offset.value}")
        known = str(getattr(data.ty, "dtype", s.buffer.ty.dtype))
        if storage_type(known) != storage_type(str(s.buffer.ty.dtype)):
            raise self.exprs.unsupported(f"buffer {s.buffer.name} aliases data of dtype {known}")
        if s.buffer not in self.dead:
            self.exprs.bind_buffer(s.buffer, self.exprs.buffer(data))

    def _allocbuffer(self, s: tirx.AllocBuffer) -> None:
        buffer = s.buffer
        if buffer in self.dead:
            return
        dtype = str(buffer.ty.dtype)
        ctype, item = storage_type(dtype), nbytes(dtype)
        extent = c_sizes.product(list(buffer.ty.shape), self.symbols, self.exprs)
        name = self.fresh("t")
        self.exprs.bind_buffer(buffer, name)
        if extent.value is not None and extent.value * item <= STACK_BYTES:
            self.put(f"{ctype} {name}[{max(1, extent.value)}];")
        else:
            self.workspace.place(name, ctype, extent, item)


def _splits(loop: tirx.For) -> bool:
    """Whether the loop is marked parallel and counts from 0."""
    zero = isinstance(loop.min, tirx.IntImm) and loop.min.value == 0
    return loop.kind == tirx.ForKind.PARALLEL and zero and loop.step is None


def _accumulates(store: tirx.BufferStore, variables: list[tvm.ir.Var], exprs: ExprPrinter) -> bool:
    """Whether `store` updates one loop-invariant element that the loops read nowhere else."""
    moving = set(variables)
    for index in store.indices:
        if any(isinstance(n, TensorLoad) or n in moving for n in walk(index)):
            return False
    own = 0
    for node in walk(store.value):
        if isinstance(node, TensorLoad) and exprs.buffer(node.source) == exprs.buffer(store.buffer):
            pairs = zip(node.indices, store.indices, strict=True)
            if not all(tvm_ffi.structural_equal(a, b) for a, b in pairs):
                return False
            own += 1
    return own > 0
