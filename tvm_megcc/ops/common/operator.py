"""`OnnxOp`, the base class of operators: a converter, and facts for the importer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar, TypeAlias

from tvm import relax

from ...dims import is_static
from ...shapes.arithmetic import Known
from ...shapes.constraints import EXACTLY, Labels, Shape
from ...shapes.sizes import NotShapes
from .context import Attrs, Context
from .inputs import Inputs

#: A converter's result: one expression, or one per output of the node.
Result: TypeAlias = relax.Expr | tuple[relax.Expr, ...]


class OnnxOp(ABC):
    """Converts the nodes of one ONNX operator, of every opset version, to Relax.

    Attributes
    ----------
    name, domain : str
        The operator, as in a model's ``op_type`` and ``domain`` (``ai.onnx`` is ``""``): the name
        of its class, and the domain of the folder that it is in.
    moves : sequence of int
        The operands whose elements it permutes or copies, as the other operands direct: shape
        arithmetic goes through it.
    carries : sequence of int
        Operands besides the `moves` whose elements reach the results unchanged: they, and with
        them the results, may be of a storage type (`tvm_megcc.core.dtypes`).
    takes_storage : bool
        Whether `convert` handles operands of storage types.
    slow : bool
        onnx's reference implementation loops over elements in Python: only nodes with small
        operands are folded.
    random : bool
        The same operands may give other results: never folded.
    single : mapping of int to str
        Operands of one element, with ONNX's names for them.
    alike : sequence of sequence of int
        Groups of operands that have one element type, where no schema of ONNX says so.
    flags : sequence of int
        The operands that are bools, where no schema of ONNX says so.
    data_dependent : bool
        Its results have dims that are known at run time only, whatever TVM infers for some of them.
    """

    name: ClassVar[str]
    domain: ClassVar[str] = ""
    slow: ClassVar[bool] = False
    random: ClassVar[bool] = False
    moves: ClassVar[Sequence[int]] = ()
    carries: ClassVar[Sequence[int]] = ()
    takes_storage: ClassVar[bool] = False
    single: ClassVar[Mapping[int, str]] = {}
    alike: ClassVar[Sequence[Sequence[int]]] = ()
    flags: ClassVar[Sequence[int]] = ()
    data_dependent: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__

    @abstractmethod
    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        """Build the node's outputs; an output the node leaves out may be left out at the end."""

    def refuse_several(self, ctx: Context, inputs: Inputs) -> None:
        """Raise an `IllTypedError` where an operand of the `single` has not one element."""
        for index, name in self.single.items():
            shape = inputs.shape_or_none(index) if inputs.has(index) else None
            if shape is not None and is_static(shape) and prod(shape) != 1:
                raise ctx.ill_typed(f"its {name} has {prod(shape)} elements, not one")

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        """Labels of each operand's axes: dims with equal labels must be equal.

        ``shapes`` are those of the operands, None where absent or unknown. `shapes.constraints`
        has the kinds of labels.
        """
        return [[] for _ in shapes]

    def contract(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        """The `labels`, and dims of exactly 1 for the `single` operands."""
        found = self.labels(shapes, attrs)
        for index in self.single:
            if index < len(shapes) and shapes[index]:
                found[index] = [(EXACTLY, 1)] * len(shapes[index] or ())
        return found

    def only_moves(self, attrs: Attrs) -> bool:
        """Whether a node with these attributes leaves the elements of the `moves` as they are."""
        return bool(self.moves)

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        """Result for known operands, some with symbolic sizes (see `shapes.arithmetic`).

        Raises
        ------
        NotShapes
            It cannot be expressed by sizes: the node is converted.
        """
        raise NotShapes

    def generated(self, operands: Sequence[Any]) -> int:
        """Elements of the result, where known operands can make much out of little; else 0."""
        return 0
