"""The user's preference where kernels differ in speed and size, and its price.

Example
-------
>>> Preference("speed").allowance(1000) is None, Preference().allowance(1000)
(True, 250)
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm_megcc.errors import InputError

#: Growth of a model's weights that each mode allows, as a fraction; None: any.
GROWTH: dict[str, tuple[int, int] | None] = {"speed": None, "balanced": (1, 4), "size": (0, 1)}
OPTIMIZE = tuple(GROWTH)
#: Arithmetic of a softmax between 8-bit tensors.
SOFTMAX = ("float", "integer")
#: Types in which floats are stored and computed.
PRECISIONS = ("model", "fp32", "fp16", "mixed")


@dataclass(frozen=True, slots=True)
class Preference:
    """How to choose between kernels of equal rank.

    Attributes
    ----------
    optimize : {"balanced", "speed", "size"}
        ``speed`` takes the fewest instructions. ``balanced`` does so while the weights of the whole
        model grow by at most a quarter, spent where a byte saves most, and the arena hardly.
        ``size`` never lets weights grow, and has the package's kernels compiled for size.
        On a Cortex-M no mode lets a workspace raise the arena.
    exact : bool
        Only kernels that add and multiply what the operator's definition does.
    precision : {"model", "fp32", "fp16", "mixed"}
        ``fp16`` stores floats in 16 bits and computes in them where the machine can; ``mixed``
        stores them so and computes in f32; ``fp32`` does both in f32. ``model``: as ``fp16`` for a
        model in f16, else as ``fp32``.
    softmax : {"float", "integer"}
        ``integer`` computes softmaxes between 8-bit tensors without floats: an element differs
        from that of ``float`` by at most one step of its scale.

    Raises
    ------
    InputError
        When there is no such ``optimize``, ``precision`` or ``softmax``.
    """

    optimize: str = "balanced"
    exact: bool = False
    precision: str = "model"
    softmax: str = "float"

    def __post_init__(self) -> None:
        if self.optimize not in GROWTH:
            raise InputError(
                f"optimize {self.optimize!r} is not known; choose from {', '.join(OPTIMIZE)}"
            )
        if self.precision not in PRECISIONS:
            raise InputError(
                f"precision {self.precision!r} is not known; choose from {', '.join(PRECISIONS)}"
            )
        if self.softmax not in SOFTMAX:
            raise InputError(
                f"softmax {self.softmax!r} is not known; choose from {', '.join(SOFTMAX)}"
            )

    def allowance(self, weights: int) -> int | None:
        """Bytes by which weights of so many bytes may grow; None: any."""
        growth = GROWTH[self.optimize]
        return None if growth is None else weights * growth[0] // growth[1]

    @property
    def wants_little_code(self) -> bool:
        """Whether a kernel's code counts more than some percent of its instructions."""
        return self.optimize == "size"

    @property
    def bounds_memory(self) -> bool:
        """Whether a call's workspace may not raise what the model needs."""
        return self.optimize != "speed"


DEFAULT = Preference()


@dataclass(frozen=True, slots=True)
class Spending:
    """The price of the choice of kernels in a model, and the instructions that it saved.

    Attributes
    ----------
    preference : Preference
    weight_bytes : int
        Of the model's constants, where nothing is spent.
    allowed_bytes : int or None
        Growth that the preference allows; None: any.
    spent_bytes : int
        Their growth.
    calls : int
        Number of calls that have a choice.
    instructions_before, instructions : int
        An estimate of what these calls take, without and with it; on x86 with what could be
        executed while their weights are read.
    """

    preference: Preference
    weight_bytes: int
    allowed_bytes: int | None
    spent_bytes: int
    calls: int
    instructions_before: int
    instructions: int
