"""One architecture's part of a package: a `Bundle` made ready to be encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tvm_megcc.codegen_c.emit import instructions
from tvm_megcc.codegen_c.emit.function_words import Function
from tvm_megcc.codegen_c.emit.instructions import Code
from tvm_megcc.codegen_c.emit.prune import prune
from tvm_megcc.core.program import Bundle, Feed, Kernel

#: Instructions that data can make fail: only packages with one of them say which node it was.
FAILING = {"CHECK", "LOAD", "LET", "ROW"}

#: Files of the runtime that hold what several instructions have in common.
SHARED = {
    "megcc_op_call": {"megcc_op_call_sized", "megcc_op_band", "megcc_op_band_sized"},
    "megcc_op_band": {"megcc_op_band_sized"},
    "megcc_op_slide": {"megcc_op_slide_sized"},
    "megcc_data": {"megcc_op_load", "megcc_op_let"},
    "megcc_jumps": {"megcc_op_row", "megcc_op_branch", "megcc_op_jump", "megcc_op_feed"},
    "megcc_failed": {handler for n in FAILING if (handler := instructions.handler(n))},
}

#: Files of the runtime that packages have whose shapes can change.
SHAPES = {"megcc_shapes", "megcc_shapes_image", "megcc_shape_problem", "megcc_blocks"}

#: Handlers that such packages have around those of other packages.
SHAPED = {"megcc_op_call": "megcc_op_call_shaped", "megcc_op_copy": "megcc_op_copy_shaped"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """One architecture's part of a package: its programs, and the kernels of all of them."""

    bundle: Bundle
    codes: tuple[Code, ...]
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, bundle: Bundle) -> Compiled:
        codes = tuple(instructions.own_outputs(prune(v.program)) for v in bundle.variants)
        kernels = {kernel: None for code in codes for kernel in code.program.kernels}
        return cls(bundle, codes, tuple(kernels))

    @property
    def is_shaped(self) -> bool:
        """Whether shapes can change."""
        return len(self.codes) > 1 or bool(self.bundle.symbols or self.codes[0].program.symbols)

    @property
    def is_small(self) -> bool:
        """Whether the user wants little code rather than speed."""
        spending = self.codes[0].program.spending
        return spending is not None and spending.preference.wants_little_code

    @property
    def draws(self) -> bool:
        """Whether one of the programs draws random numbers."""
        return can_draw(self.opcodes)

    @property
    def opcodes(self) -> set[str]:
        return {name for code in self.codes for name in code.opcodes}

    @property
    def feeds(self) -> list[Feed]:
        """The steps that an image comes in by."""
        return [
            step for code in self.codes for step in code.program.calls if isinstance(step, Feed)
        ]

    def functions(self, placed: Sequence[Sequence[tuple[int, int]]]) -> list[Function]:
        """The programs as `bytecode.encode` takes them."""
        number = {kernel: k for k, kernel in enumerate(self.kernels)}
        return [
            Function(
                variant.guard,
                code,
                tuple(number[k] for k in code.program.kernels),
                where,
                self.draws,
            )
            for variant, code, where in zip(self.bundle.variants, self.codes, placed, strict=True)
        ]


def opcodes_of(codes: Mapping[str, Compiled]) -> list[str]:
    used = {name for code in codes.values() for name in code.opcodes}
    return sorted(used, key=lambda name: instructions.opcodes()[name])


def can_fail(opcodes: Iterable[str]) -> bool:
    """Whether data can end a run of a package with these instructions."""
    return not FAILING.isdisjoint(opcodes)


def can_draw(opcodes: Iterable[str]) -> bool:
    """Whether a package with these instructions draws random numbers."""
    return "DRAW" in opcodes


def handler_of(codes: Mapping[str, Compiled], opcode: str) -> str | None:
    """C name of a package's handler of an opcode."""
    name = instructions.handler(opcode)
    return SHAPED.get(name, name) if name is not None and is_shaped(codes) else name


def is_shaped(codes: Mapping[str, Compiled]) -> bool:
    """Whether shapes can change in a package."""
    return any(code.is_shaped for code in codes.values())


def runtime_parts(codes: Mapping[str, Compiled]) -> list[str]:
    """Files of the runtime that not every package has."""
    found = {h for name in opcodes_of(codes) if (h := instructions.handler(name))}
    for part, handlers in SHARED.items():
        if found & handlers:
            found.add(part)
    if is_shaped(codes):
        found |= SHAPES | {SHAPED[h] for h in SHAPED.keys() & found}
    return sorted(found)
