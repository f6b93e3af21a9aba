"""Matches: calls of a function that become calls of kernels.

Enters: a Relax function. Leaves: matches that do not overlap: the variable that a kernel will
compute, the request made of the calls behind it, and the kernels that serve it.

Anchors grow by one step at a time (`tvm_megcc.fuse.epilogue`). Then values are given to kernels
from the last value up, to the kernel with the most calls first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tvm import relax

from tvm_megcc.core.machine import machine
from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.dims import Size, Undecided, is_static
from tvm_megcc.fuse import catalogue
from tvm_megcc.fuse.epilogue import Grown, grow
from tvm_megcc.fuse.graph import Graph, variables
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.kernels import registry
from tvm_megcc.kernels.kernel_file import KernelFile
from tvm_megcc.relax_tools.calls import op_name, permutation_of, reduced_axes
from tvm_megcc.relax_tools.exprs import as_int, dtype_of
from tvm_megcc.relax_tools.slices import slice_of
from tvm_megcc.relax_tools.traits import BROADCAST, UNARY

_SLICE, _CONCAT = "relax.strided_slice", "relax.concat"
_SUM = "relax.sum"
#: Operators that are part of a chain of elementwise ones where loops over lines are vectors.
_JOINED = {_SUM, _CONCAT, "relax.permute_dims"}
_VECTORS = ("f32", "f16", "bf16", "i32")
#: Elements of a line, of which vectors are made.
_LINE = 8
#: Parts of a concat at most: each is a loop of its own (`codegen_c.tir.stretches`).
_MOST_PARTS = 4
#: Operators that fuse to one TIR function. A slope of nn.prelu does not broadcast as in NumPy.
_CHAINED = UNARY | BROADCAST | {"relax.nn.prelu", "relax.quantize", "relax.dequantize"}


@dataclass(frozen=True, slots=True)
class Match:
    """`request` in place of the call bound to `var`, served by one of the `kernels`.

    Costs decide between several (`tvm_megcc.kernels.choice`). `inside` are the values of all calls
    in the kernel call, `var` among them.
    """

    var: relax.Var
    request: Request
    kernels: tuple[KernelFile, ...]
    inside: frozenset[relax.Var] = frozenset()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A matched anchor with its epilogue."""

    anchor: Anchor
    parts: Parts
    grown: Grown


def find_matches(
    func: relax.Function, arch: str, preference: Preference = DEFAULT
) -> dict[relax.Var, Match]:
    """All matches in `func` by the variable that they compute.

    Operators with what follows them come first; then elementwise operators, where a kernel takes a
    whole chain (a longer chain is one TIR function, which passes over memory once); then slices
    that such a function does not read itself. A sum of lines behind a chain, and a permutation or a
    concat in front of one, is part of the chain where its loops stay vectors (`is_of_chain`).
    """
    matcher = _Matcher(func, arch, preference)
    anchors = catalogue.anchors().values()
    slices = [a for a in anchors if a.root == _SLICE]
    others = [a for a in anchors if not a.elementwise and a not in slices]
    matcher.take(others, lambda grown: not matcher.is_of_chain(grown.value))
    matcher.take(others, matcher.leaves)
    lengths = matcher.chain_lengths()
    matcher.take(
        [a for a in anchors if a.elementwise],
        lambda grown: lengths.get(grown.value) == len(grown.inside),
    )
    matcher.take(slices, lambda grown: not matcher.is_read_by_chains(grown.value))
    return matcher.matches


class _Matcher:
    def __init__(self, func: relax.Function, arch: str, preference: Preference) -> None:
        self.arch, self.preference = arch, preference
        self.graph = Graph(func)
        self.matches: dict[relax.Var, Match] = {}
        #: Values of other operators that generated functions compute with elementwise ones.
        self.generated: set[relax.Var] = set()
        self._has_vectors = machine(arch).vectors

    def take(
        self, anchors: Iterable[Anchor], wanted: Callable[[Grown], bool] = lambda grown: True
    ) -> None:
        """Give values to kernels of these anchors, from the last value to the first."""
        found: dict[relax.Var, list[_Candidate]] = {}
        for candidate in self._candidates(list(anchors)):
            if wanted(candidate.grown):
                found.setdefault(candidate.grown.value, []).append(candidate)
        for var in reversed(self.graph.values):
            rows = found.get(var, [])
            # The sort keeps the catalogue's order, and that of the steps, among equals.
            for row in sorted(rows, key=lambda c: (-len(c.grown.inside), c.grown.swapped)):
                if self._claim(row):
                    break

    def _candidates(self, anchors: list[Anchor]) -> Iterable[_Candidate]:
        by_root: dict[str, list[Anchor]] = {}
        for anchor in anchors:
            by_root.setdefault(anchor.root, []).append(anchor)
        for var, value in self.graph.values.items():
            if var in self.graph.claimed:
                continue
            for anchor in by_root.get(op_name(value), ()):
                found = self.graph.matched(anchor.pattern, var, anchor.again)
                if found is None:
                    continue
                # Parts of a form that was not met are left out.
                parts = {n: found.parts[p] for n, p in anchor.parts.items() if p in found.parts}
                parts["root"] = value
                for grown in grow(self.graph, var, found.calls, anchor.steps):
                    known = Parts(parts, self.graph.symbols, self.preference)
                    yield _Candidate(anchor, known, grown)

    def _claim(self, candidate: _Candidate) -> bool:
        graph, grown = self.graph, candidate.grown
        if grown.inside & graph.claimed or not graph.is_closed(grown.inside, grown.value):
            return False
        try:
            request = candidate.anchor.build(candidate.parts, grown.tail)
        except Undecided:  # the anchor asks what only the shapes at run time answer
            return False
        if request is None:
            return False
        operands = {name: graph.operand(o) for name, o in request.operands.items()}
        if any(o in grown.inside for o in operands.values() if isinstance(o, relax.Var)):
            return False
        request = Request(request.op, request.facts, operands).checked(grown.value, graph.symbols)
        kernels = registry.alternatives(request.op, self.arch, request.facts)
        if not kernels or not self._is_cheaper(candidate, request, kernels):
            return False
        graph.claim(grown.inside)
        self.matches[grown.value] = Match(grown.value, request, kernels, grown.inside)
        return True

    def _is_cheaper(
        self, candidate: _Candidate, request: Request, kernels: Sequence[KernelFile]
    ) -> bool:
        """Whether an anchor takes fewer instructions than the calls without it."""
        grown = candidate.grown
        others = candidate.anchor.others(candidate.parts, grown.tail)
        mine = self._least(request, kernels)
        if not others or mine is None:
            return True
        total = 0
        for other in others:
            if other.request is None:
                return True
            value = grown.value if other.value is None else other.value
            asked = other.request.checked(value, self.graph.symbols)
            found = registry.alternatives(asked.op, self.arch, asked.facts)
            least = self._least(asked, found)
            if least is None:  # of a kernel that is better always, whatever it takes
                return False
            total += least
        return mine < total

    def _least(self, request: Request, kernels: Sequence[KernelFile]) -> int | None:
        """Fewest instructions of a call; None if no kernel states them."""
        wanted = [k for k in kernels if self._may_serve(k, kernels[0], request)]
        counts = [k.instructions(request.facts) for k in wanted]
        return min((c for c in counts if c is not None), default=None)

    def _may_serve(self, kernel: KernelFile, exact: KernelFile, request: Request) -> bool:
        """Whether the user's preference allows a kernel, apart from the model's budget."""
        mode, facts = self.preference, request.facts
        grows = kernel.weights(facts) > exact.weights(facts) and mode.allowance(1 << 30) == 0
        return mode.optimize in kernel.optimize and (kernel.exact or not mode.exact) and not grows

    def chain_lengths(self) -> dict[relax.Var, int]:
        """Elementwise value -> number of calls in its chain of connected elementwise calls."""
        chain = self.generated | {
            v for v in self.graph.values if v not in self.graph.claimed and self._is_elementwise(v)
        }
        root = {v: v for v in chain}

        def find(var: relax.Var) -> relax.Var:
            while root[var] != var:
                root[var] = var = root[root[var]]
            return var

        for var in chain:
            for used in variables(self.graph.values[var]):
                if used in chain:
                    root[find(used)] = find(var)
        sizes = Counter(find(v) for v in chain)
        return {v: sizes[find(v)] for v in chain}

    def leaves(self, grown: Grown) -> bool:
        """Whether a value is for a kernel; else remember it as one of a chain."""
        if self.is_of_chain(grown.value):
            self.generated.add(grown.value)
            return False
        return True

    def is_of_chain(self, var: relax.Var) -> bool:
        """Whether a generated loop over vectors computes `var` together with elementwise calls.

        A sum of whole lines, of a value that nothing else uses; a permutation that keeps lines,
        and a concat within them, that one elementwise call uses. A mean is two loops to FuseOps,
        and an extreme that keeps NaN no fold of vectors.
        """
        call, graph = self.graph.values[var], self.graph
        name = op_name(call)
        if not self._has_vectors or name not in _JOINED or dtype_of(call) not in _VECTORS:
            return False
        if name == _SUM:
            if dtype_of(call) != "f32":
                return False  # the kernel adds up f16 in f32
            operand, shape = next(variables(call), None), graph.shape_of(call.args[0])
            return (
                operand is not None and shape is not None and call.attrs.axis is not None
                and reduced_axes(call) == [len(shape) - 1]
                and _is_line(shape[-1]) and self._is_free(operand)
                and graph.users_of(operand) == [var]
            )  # fmt: skip
        users = graph.users_of(var)
        if len(users) != 1 or not self._is_free(users[0]):
            return False
        if name == _CONCAT:
            return _joins_lines(call, graph)
        shape, axes = graph.shape_of(call.args[0]), permutation_of(call)
        return shape is not None and axes[-1] == len(shape) - 1 and _is_line(shape[-1])

    def _is_free(self, var: relax.Var) -> bool:
        """Whether `var` is an elementwise value that no kernel has."""
        return (
            var in self.graph.values and var not in self.graph.claimed and self._is_elementwise(var)
        )

    def is_read_by_chains(self, var: relax.Var) -> bool:
        """Whether only generated elementwise functions use `var`, a slice at a fixed place.

        They read the slice in place, without a copy.
        """
        users = self.graph.users_of(var)
        generated = all(u not in self.graph.claimed and self._is_elementwise(u) for u in users)
        call = self.graph.values[var]
        shape = self.graph.shape_of(call.args[0])
        cut = slice_of(call, shape, self.graph.symbols) if shape is not None else None
        return bool(users) and generated and cut is not None and is_static(cut.begins)

    def _is_elementwise(self, var: relax.Var) -> bool:
        return op_name(self.graph.values[var]) in _CHAINED


def _is_line(size: Size) -> bool:
    """Whether a last dim is worth vectors; one that is not known is taken for long."""
    return not isinstance(size, int) or size >= _LINE


def _joins_lines(call: relax.Call, graph: Graph) -> bool:
    """Whether a concat puts known parts of lines side by side, for more than one line."""
    out, fields = graph.shape_of(call), getattr(call.args[0], "fields", ())
    shapes = [graph.shape_of(field) for field in fields]
    axis = as_int(call.attrs.axis)
    if not out or axis is None or axis % len(out) != len(out) - 1 or len(fields) > _MOST_PARTS:
        return False
    widths = [shape[-1] for shape in shapes if shape]
    known = all(isinstance(width, int) and width >= _LINE for width in widths)
    return known and len(widths) == len(fields) and out[:-1] != (1,) * (len(out) - 1)
