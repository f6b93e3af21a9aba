"""The state of an import: the block under construction, and values as expressions.

Conversions of sequences, branches and loops work on it; `walk` is the import loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from tvm import relax

from tvm_megcc.core.dtypes import DType
from tvm_megcc.relax_tools.control_flow import Functions
from tvm_megcc.relax_tools.exprs import shape_of

from ..dims import Multiple, Size, Symbol
from ..ops import Context
from ..ops.common.context import constant, expr_dtype
from ..ops.common.stored import held, storage
from ..shapes.sizes import Real, SizeArray
from . import function_nodes
from .sequences import Value
from .values import HALVES, Array, label, type_of

Scope = MutableMapping[str, Value]


class Importer(ABC):
    """State of one import: the block under construction and what could not be converted."""

    def __init__(self, model: onnx.ModelProto) -> None:
        #: What makes the module, and what makes the function that is being converted into.
        self.main = self.builder = relax.BlockBuilder()
        self.opsets = {entry.domain: entry.version for entry in model.opset_import}
        self.definitions = function_nodes.Functions(model)
        self.missing: list[str] = []
        #: The symbolic dims by name: TVM's variables, and their bounds where they have any.
        self.variables: dict[str, Any] = {}
        self.symbols: dict[str, Symbol | Size] = {}
        #: Those of them that are multiples.
        self.multiples: dict[str, Multiple] = {}
        #: What If, Loop and Scan call.
        self.functions = Functions()
        #: The values of the model by their variables' names.
        self.names: dict[str, str] = {}
        #: Values by the names of variables that are not called after them: a converter's, another
        #: value's that is the same, or that of a function's result.
        self.aliases: dict[str, set[str]] = {}
        #: Variables of the function of the model that is being expanded, and of all such functions.
        self.in_function: set[str] | None = None
        self.of_functions: set[str] = set()
        #: The values of the model that are computed when it runs, not known before.
        self.computed: set[str] = set()
        #: Outputs that will share the memory of an input, and that input.
        self.states: dict[str, str] = {}
        #: Values of storage types, and outputs of such types: TVM's name of the type.
        self.stored: dict[relax.Expr, str] = {}
        self.stored_ports: dict[str, str] = {}
        #: Weights of the graph that is being converted which stay quantised.
        self.weights: frozenset[str] = frozenset()
        #: Numbers of dims that the graph declares for its values.
        self.ranks: dict[str, int] = {}
        #: Dims made by broadcasting two dynamic dims, in the function under construction.
        self.met: dict[Size, tuple[Size, ...]] = {}
        self._constants: dict[int, tuple[Array, relax.Expr]] = {}
        self._widened: dict[relax.Expr, relax.Expr] = {}

    @contextmanager
    def inside(self, builder: relax.BlockBuilder) -> Iterator[relax.BlockBuilder]:
        """Let what is converted from here on go into another function."""
        outside, constants, met = self.builder, self._constants, self.met
        # An empty constant is bound where it is first wanted, which is not to be seen outside.
        self.builder, self._constants, self.met = builder, dict(constants), dict(met)
        try:
            yield builder
        finally:
            self.builder, self._constants, self.met = outside, constants, met

    def context(self, node: onnx.NodeProto) -> Context:
        """The place of a node, for its conversion."""
        return Context(
            self.builder,
            node.op_type,
            label(node),
            tuple(node.output),
            self.variables,
            self.symbols,
            self.functions,
            self.met,
            self.opsets.get(node.domain, 1),
            self.stored,
            tuple(self.ranks.get(name) for name in node.output),
            frozenset(k for k, name in enumerate(node.output) if name in self.states),
        )

    def storage(self, value: Value | None) -> DType | None:
        """The storage type of a value, None for a type that is computed with."""
        if isinstance(value, np.ndarray):
            return storage(str(value.dtype))
        marked = isinstance(value, relax.Expr) and value in self.stored
        return storage(self.stored[value]) if marked else None

    def type_of_value(self, value: Value | None) -> onnx.TypeProto:
        """ONNX's type of a value."""
        return type_of(value, self.storage(value), self.symbols)

    def place(self, name: str) -> Context:
        """Context named `name` for expressions that belong to no ONNX node."""
        return Context(
            self.builder, name, name, (), self.variables, self.symbols, self.functions,
            stored=self.stored,
        )  # fmt: skip

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Bind a value that the model has no name for."""
        return self.builder.emit(expr, self.functions.unused())

    def returned(self, expr: relax.Expr) -> relax.Expr:
        """A result of the function that is being converted into."""
        if not isinstance(expr, relax.Var):
            return expr
        return self.builder.emit_output(expr, self.functions.unused("gv"))

    def shape_of(self, expr: relax.Expr) -> tuple[Size, ...] | None:
        """The dims of an expression, None where they are known at run time only."""
        return shape_of(expr, self.symbols)

    def widen(self, expr: relax.Expr) -> relax.Expr:
        """Widen an f16 or bf16 value to f32; other values stay."""
        if expr_dtype(expr) not in HALVES:
            return expr
        wide = self.emit(relax.op.astype(expr, "float32"))
        self._widened[expr] = wide
        return wide

    def expr(self, value: Value | None) -> relax.Expr:
        if isinstance(value, SizeArray):
            return self._sizes(value)
        if not isinstance(value, np.ndarray):
            return value
        if id(value) not in self._constants:
            # The array is kept, so that its id stays its own.
            self._constants[id(value)] = (value, constant(self.builder, held(value)))
        return self._constants[id(value)][1]

    def _sizes(self, array: SizeArray) -> relax.Expr:
        """Sizes as a tensor, for a node that computes with data and sizes."""
        ctx = self.place("Shape")
        items = [Real.of(item) for item in array.flat()]
        exact = "float" not in array.dtype
        result = ctx.sizes([i.top for i in items], "int64" if exact else array.dtype)
        if not exact and any(i.bottom != 1 for i in items):
            bottoms = ctx.sizes([i.bottom for i in items], array.dtype)
            result = ctx.emit(relax.op.divide(result, bottoms))
        if expr_dtype(result) != array.dtype:
            result = ctx.emit(relax.op.astype(result, array.dtype))
        return ctx.emit(relax.op.reshape(result, array.shape))

    @abstractmethod
    def branch(self, graph: onnx.GraphProto, scope: Scope) -> list[Value]:
        """The results of a graph that stands in a node, converted in place of the node."""

    @abstractmethod
    def expanded(
        self, body: function_nodes.Body, values: Sequence[Value | None], like: Iterable[str] = ()
    ) -> Scope:
        """Convert the graph that replaces a node: its values by their names in that graph.

        Floats on the way are of the type that the model's values `like` are of.
        """
