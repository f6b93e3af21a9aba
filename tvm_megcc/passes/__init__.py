"""The passes, Relax -> Relax, each a TVM transform, and the pipeline on one screen.

Enters: the frontend's module (dataflow function ``main``). Leaves: a module whose calls are
``call_dps_packed`` (a kernel's symbol) and ``memory.view``.

Example
-------
>>> mod = tvm.transform.Sequential(list(stages("arm64").values()))(mod)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax

from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.legalise import LegaliseRest
from tvm_megcc.legalise.named_sizes import NameSizes, WriteSizes
from tvm_megcc.legalise.sizes_first import SizesFirst
from tvm_megcc.passes.adjacent_axes import AdjacentAxes
from tvm_megcc.passes.bf16_weights import NarrowBf16Weights, RoundBf16Weights
from tvm_megcc.passes.byte_tables import ByteTables
from tvm_megcc.passes.cache_dtype import CacheDtype
from tvm_megcc.passes.channels_first import ChannelsFirst
from tvm_megcc.passes.channels_last import ChannelsLast
from tvm_megcc.passes.depthwise_multiples import DepthwiseMultiples
from tvm_megcc.passes.expand_quantised import ExpandQuantised
from tvm_megcc.passes.externs import CallExterns
from tvm_megcc.passes.flat_windows import WindowsTo2d
from tvm_megcc.passes.fold_constants import FoldConstants
from tvm_megcc.passes.fold_scale import FoldScaleShift
from tvm_megcc.passes.forward_memory import ForwardMemory
from tvm_megcc.passes.generate import Generate
from tvm_megcc.passes.half_precision import HalfPrecision, wide_machine
from tvm_megcc.passes.hold_casts import HoldCasts
from tvm_megcc.passes.implicit_broadcast import ImplicitBroadcast
from tvm_megcc.passes.integer_form import IntegerForm
from tvm_megcc.passes.integer_ports import IntegerPorts
from tvm_megcc.passes.last_position import LastPosition
from tvm_megcc.passes.materialise import MaterialiseKernels
from tvm_megcc.passes.narrow_moves import NarrowMoves
from tvm_megcc.passes.plain_convolutions import PlainConvolutions
from tvm_megcc.passes.pointwise import PointwiseProducts
from tvm_megcc.passes.quantised_moves import QuantisedMoves
from tvm_megcc.passes.read_sizes import ReadSizes
from tvm_megcc.passes.reshapes_below import ReshapesBelow
from tvm_megcc.passes.settle_stretched import SettleStretched
from tvm_megcc.passes.whole_activations import WholeActivations
from tvm_megcc.passes.whole_operators import WholeOperators
from tvm_megcc.passes.widen_weights import WidenWeights
from tvm_megcc.relax_tools import raising

__all__ = [
    "AdjacentAxes", "ByteTables", "CacheDtype", "CallExterns", "ChannelsFirst", "ChannelsLast",
    "DepthwiseMultiples", "ExpandQuantised", "FoldConstants", "FoldScaleShift", "ForwardMemory",
    "Generate", "HalfPrecision", "HoldCasts",
    "ImplicitBroadcast", "IntegerForm", "IntegerPorts", "LastPosition", "LegaliseRest",
    "MaterialiseKernels",
    "NarrowBf16Weights",
    "NameSizes", "NarrowMoves", "PlainConvolutions", "PointwiseProducts", "QuantisedMoves",
    "ReadSizes", "ReshapesBelow", "RoundBf16Weights", "SettleStretched", "SizesFirst",
    "WholeActivations", "WholeOperators", "WidenWeights", "WindowsTo2d", "WriteSizes",
    "pipeline", "stages",
]  # fmt: skip

raising.register()


def shared_stages(preference: Preference = DEFAULT) -> dict[str, tvm.ir.transform.Pass]:
    """The first stages of `stages`, which are the same for every architecture."""
    sequential = tvm.transform.Sequential
    return {
        "canonicalise": sequential(
            [
                ExpandQuantised(),
                relax.transform.ConvertToDataflow(min_size=1),
                ReadSizes(),
                SettleStretched(),
                WholeActivations(),
                WholeOperators(),
                ChannelsFirst(),
                PlainConvolutions(),
                QuantisedMoves(),
                IntegerForm(),
                PointwiseProducts(),
                FoldScaleShift(),
                WindowsTo2d(),
                DepthwiseMultiples(),
                ImplicitBroadcast(),
                FoldConstants(keep_weights=True),
                FoldScaleShift(),
                relax.transform.DecomposeOpsForInference(),
                FoldConstants(keep_weights=True),
                relax.transform.EliminateCommonSubexpr(),
                relax.transform.CanonicalizeBindings(),
                HalfPrecision(preference.precision),
                RoundBf16Weights(preference.precision),
            ]
        ),
        "layout": sequential(
            [
                ChannelsLast(),
                QuantisedMoves(),
                NarrowMoves(),
                ByteTables(),
                AdjacentAxes(),
                ReshapesBelow(),
            ]
        ),
        "forward_memory": ForwardMemory(),
    }


def machine_stages(
    arch: str, entries: Sequence[str] | None = None, preference: Preference = DEFAULT
) -> dict[str, tvm.ir.transform.Pass]:
    """The stages after `shared_stages`; parameters as of `stages`."""
    sequential = tvm.transform.Sequential
    computing = wide_machine(arch) if preference.precision == "mixed" else arch
    return {
        "materialise": sequential(
            [
                WidenWeights(computing),
                NarrowBf16Weights(computing, preference.precision),
                HoldCasts(),
                MaterialiseKernels(computing, preference),
                NameSizes(),
                LegaliseRest(),
            ]
        ),
        "generate": sequential([CallExterns(), Generate(entries, arch), WriteSizes()]),
    }


def stages(
    arch: str, entries: Sequence[str] | None = None, preference: Preference = DEFAULT
) -> dict[str, tvm.ir.transform.Pass]:
    """Passes of the pipeline by the name of their stage, in the order in which they run.

    Parameters
    ----------
    arch : str
        ``portable``, ``arm64``, ``armv7`` or ``x86``.
    entries : sequence of str, optional
        The functions that are compiled, with what they call; by default all.
    preference : Preference
        What decides between kernels that differ in speed and size.
    """
    return {**shared_stages(preference), **machine_stages(arch, entries, preference)}


def pipeline(arch: str) -> tvm.ir.transform.Pass:
    """Make one pass of all stages for `arch` (``portable``, ``arm64``, ``armv7``, ``x86``)."""
    return tvm.transform.Sequential(list(stages(arch).values()), name="tvm_megcc")
