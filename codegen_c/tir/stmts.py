"""Flat TIR statements -> C statements, with the kernel's temporaries laid out.

Buffers of at most `STACK_BYTES` constant bytes live on the C stack, the others in the workspace,
each at its own 64-byte aligned offset.
"""

from __future__ import annotations

import itertools

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad

from . import c_sizes, sorting
from .body import Body
from .c_exprs import ExprPrinter, bare
from .c_scalars import HALF, nbytes, storage_type, value_type
from .indices import DIVIDE, INDEX_TYPES, dtype_of, key_of
from .stretches import cuts_of, stretches
from .vectors import SHORT, Fold, NoVectors, VectorPrinter, is_light, is_worth_it
from .walk import variables, walk

#: Largest temporary that is put on the C stack.
STACK_BYTES = 256
#: Elements of a line, for vectors of four, that are folded before they are added to the others.
RUN = 256


class StmtPrinter(Body):
    """Prints the statements of one function into `lines`.

    ``parallel`` is the extent of the outermost loop when that loop is the kernel's work range.
    ``ivdep`` says that no iteration reads what another one writes, although pointers may be equal;
    ``unroll``, how many turns of an innermost loop the C compiler is told to take at once;
    ``vectors``, that innermost loops are written with ``megcc_simd.h`` where they can be.
    """

    def __init__(
        self,
        exprs: ExprPrinter,
        symbols: dict[tvm.ir.Var, str],
        dead: set[tvm.ir.Var],
        ivdep: bool = False,
        unroll: int = 1,
        vectors: bool = False,
    ) -> None:
        super().__init__(exprs, symbols)
        self.dead = dead
        self.ivdep = ivdep
        self.unroll = unroll
        self.vectors = vectors
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
        outside = dict(self.exprs.quotients)
        self.indent += 1
        self.stmt(s)
        self.indent -= 1
        self.put("}")
        self.exprs.quotients = outside

    def _seqstmt(self, s: tirx.SeqStmt) -> None:
        for part in s.seq:
            self.stmt(part)

    def _for(self, s: tirx.For) -> None:
        if s.kind == tirx.ForKind.THREAD_BINDING:
            raise self.exprs.unsupported("a loop bound to a GPU thread")
        self._divide_once(s)
        dtype = dtype_of(s.loop_var)
        name = self.fresh("i")
        ctype = "int32_t" if dtype == "int32" else "ptrdiff_t"
        self.exprs.analyzer.bind(s.loop_var, tvm.ir.Range.from_min_extent(s.min, s.extent))
        first, last = self.exprs.index(s.min), self._end(s)
        if self.parallel is not None and self.indent == 1 and s.kind == tirx.ForKind.PARALLEL:
            first, last = "begin", "end"
        if self.vectors and self._vector_loop(s, ctype, name, first, last):
            return
        self.exprs.bind(s.loop_var, name, index=True)
        accumulator = self._promote(s)
        if not self.vectors or not self._vector_sum(s, ctype, name, first, last):
            step = self.exprs.index(s.step) if s.step is not None else "1"
            advance = f"++{name}" if step == "1" else f"{name} += {step}"
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

    def _vector_loop(self, s: tirx.For, ctype: str, name: str, first: str, last: str) -> bool:
        """Print a loop over elements as one over vectors; False if that cannot be done.

        A loop whose conditions compare its variable with numbers becomes a loop for each stretch.
        """
        if not is_worth_it(s) or s.body.buffer in self.dead:
            return False
        parts = [(name, first, last, s.body)]
        if (cuts := cuts_of(s)) and first == "0":
            ends = [(str(a), str(b)) for a, b in itertools.pairwise([0, *cuts])]
            ends.append((str(cuts[-1]), last))
            names = [name, *(self.fresh("i") for _ in cuts)]
            stores = stretches(s, cuts)
            parts = [(n, *e, one) for n, e, one in zip(names, ends, stores, strict=True)]
        try:
            printed = [self._vectors(s.loop_var, ctype, *part) for part in parts]
        except NoVectors:
            return False
        short = isinstance(s.extent, tirx.IntImm) and int(s.extent.value) < SHORT
        if short:
            self._where_vectors_fit(s, ctype, name, first, last)
        for line in itertools.chain(*printed):
            self.put(line)
        if short:
            self.lines.append("#endif")
        return True

    def _where_vectors_fit(self, s: tirx.For, ctype: str, name: str, first: str, last: str) -> None:
        """A loop over elements where vectors have more lanes than the loop has turns."""
        self.exprs.bind(s.loop_var, name, index=True)
        self.lines.append(f"#if MEGCC_VL > {int(s.extent.value)}")
        self.put(f"for ({ctype} {name} = {first}; {name} < {last}; ++{name}) {{")
        self._block(s.body)
        self.lines.append("#else")

    def _vectors(
        self, var: tvm.ir.Var, ctype: str, name: str, first: str, last: str, store: tirx.BufferStore
    ) -> list[str]:
        """The lines of a loop over vectors from `first` to `last`; raises NoVectors."""
        printer = VectorPrinter(self.exprs, var, self.fresh)
        second, rest = f"{name}_next", f"{name}_rest"
        self.exprs.bind(var, name, index=True)
        whole, some = printer.store(store), printer.store(store, rest)
        pointers: list[str] = []
        twice: list[str] = []
        if is_light(whole):
            pointers, pair = self._pair(printer, store, name, second)
            twice = _two_a_turn(ctype, name, second, last, pair)
        elif self.unroll > 1:
            self.exprs.uses.add("megcc_unroll.h")
            twice = [f"MEGCC_UNROLL({self.unroll})"]
        self.exprs.uses |= printer.uses | {"simd/megcc_simd.h"}
        number = f"const int32_t {rest} = (int32_t)({last} - {name});"
        lines = [
            *printer.fixed, f"{ctype} {name} = {first};", *pointers, *twice,
            *_turn(f"for (; {name} <= {last} - MEGCC_VL; {name} += MEGCC_VL)", [whole]),
            *_turn(f"if ({name} < {last})", [number, some]),
        ]  # fmt: skip
        return _guarded(lines, first, last) if printer.fixed else lines

    def _pair(
        self, printer: VectorPrinter, store: tirx.BufferStore, name: str, second: str
    ) -> tuple[list[str], list[str]]:
        """Declarations, and the statements of two vectors in a turn."""
        try:
            return printer.pair(store, name, second)
        except NoVectors:
            self.exprs.bind(printer.var, second, index=True)
            following = printer.store(store)
            self.exprs.bind(printer.var, name, index=True)
            return [], [printer.store(store), following]

    def _vector_sum(self, s: tirx.For, ctype: str, name: str, first: str, last: str) -> bool:
        """Print a loop that folds into a scalar as one that folds vectors; False if it cannot be.

        A sum is added up in another order.
        """
        if not is_worth_it(s) or s.body.buffer in self.dead:
            return False
        total = self.exprs.registers.get(self.exprs.buffer(s.body.buffer))
        printer = VectorPrinter(self.exprs, s.loop_var, self.fresh)
        if total is None or (fold := printer.fold_of(s.body)) is None:
            return False
        sums, rest = f"{name}_sum", f"{name}_rest"
        try:
            run = self._run(fold, ctype, name, last, isinstance(s.extent, tirx.IntImm))
            some = fold.term(rest)
        except NoVectors:
            return False
        self.exprs.uses |= printer.uses | {"simd/megcc_simd.h", "math/megcc_math.h"}
        lanes, each = f"{name}_lanes", f"{name}_lane"
        into = f"{total} = {fold.scalar(total, f'{lanes}[{each}]')};"
        of_lanes = f"for (int32_t {each} = 0; {each} < {{}}; ++{each}) {into}"
        if fold.is_sum_of_reals:
            joined = [f"{total} = {fold.scalar(total, f'megcc_vf_sum({sums})')};"]
        else:
            joined = [f"megcc_{fold.kind}_store({lanes}, {sums});", of_lanes.format("MEGCC_VL")]
        lines = [
            *printer.fixed, f"{ctype} {name} = {first};",
            f"megcc_{fold.kind} {sums} = {fold.none};", *run,
            f"{fold.ctype} {lanes}[MEGCC_VL];", *joined,
            *_turn(f"if ({name} < {last})", [
                f"const int32_t {rest} = (int32_t)({last} - {name});",
                f"megcc_{fold.kind}_store({lanes}, {some});", of_lanes.format(rest)]),
        ]  # fmt: skip
        for line in _guarded(lines, first, last) if printer.fixed else lines:
            self.put(line)
        return True

    def _run(self, fold: Fold, ctype: str, name: str, last: str, known: bool) -> list[str]:
        """Loops that fold all whole vectors up to `last`, a number where it is `known`.

        A line is taken in runs: a sum of their sums rounds by far less than one sum of thousands.
        """
        sums, part, odd, end = (f"{name}_{word}" for word in ("sum", "part", "odd", "end"))
        single = fold.step(part)
        pointers: list[str] = []
        twice: list[str] = []
        both = [fold.merged(sums, part)]
        if is_light(single):
            following, steps = f"{name}_next", iter((part, odd))
            pointers, loads, texts = fold.printer.halves(
                lambda: fold.step(next(steps)), name, following
            )
            turns = _two_a_turn(ctype, name, following, end, [*loads, *texts])
            twice = [f"megcc_{fold.kind} {odd} = {fold.none};", *turns]
            both = [fold.merged(part, odd), *both]
        inner = [
            f"megcc_{fold.kind} {part} = {fold.none};", *twice,
            *_turn(f"for (; {name} <= {end} - MEGCC_VL; {name} += MEGCC_VL)", [single]), *both,
        ]  # fmt: skip
        if known and int(last) <= RUN:
            return [*pointers, f"const {ctype} {end} = {last};", *inner]
        far = f"{RUN // 4} * MEGCC_VL"
        of_run = f"const {ctype} {end} = {last} - {name} < {far} ? {last} : {name} + {far};"
        return [*pointers, *_turn(f"while ({name} <= {last} - MEGCC_VL)", [of_run, *inner])]

    def _divide_once(self, loop: tirx.For) -> None:
        """Put quotients of indices that are the same in all turns of a loop in front of it."""
        nodes = list(walk(loop.body))
        made = {loop.loop_var}
        made |= {n.loop_var if isinstance(n, tirx.For) else n.var for n in nodes
                 if isinstance(n, (tirx.For, tirx.Bind, tirx.Let))}  # fmt: skip
        for node in reversed(nodes):  # operands before what is computed of them
            if type(node) not in DIVIDE or not made.isdisjoint(variables(node)):
                continue
            key = key_of(node)
            if self.exprs.is_index(node) and key not in self.exprs.quotients:
                name, text = self.fresh("q"), bare(self.exprs.index(node))
                self.put(f"const {INDEX_TYPES[dtype_of(node)]} {name} = {text};")
                self.exprs.quotients[key] = name

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


def _turn(head: str, lines: list[str]) -> list[str]:
    """Lines in the braces of a loop or a condition."""
    return [f"{head} {{", *(f"  {line}" for line in lines), "}"]


def _two_a_turn(ctype: str, name: str, second: str, last: str, body: list[str]) -> list[str]:
    """A loop over two vectors in a turn, at `name` and, where the body asks for it, at `second`."""
    if any(second in line for line in body):
        body = [f"const {ctype} {second} = {name} + MEGCC_VL;", *body]
    step = "2 * MEGCC_VL"
    return _turn(f"for (; {name} <= {last} - {step}; {name} += {step})", body)


def _guarded(lines: list[str], first: str, last: str) -> list[str]:
    """Lines that may read what all turns share, which is nowhere if there is no turn."""
    known = first.isdigit() and last.isdigit()
    return lines if known else _turn(f"if ({first} < {last})", lines)


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
