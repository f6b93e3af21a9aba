"""Every pass of this package under one name, as ``tvm.relax.transform`` has TVM's.

The name of each is the one that TVM's printer shows behind ``tvm_megcc.``.

Example
-------
>>> import tvm_megcc
>>> mod = tvm_megcc.transform.pipeline("arm64")(mod)                     # doctest: +SKIP
>>> executable = tvm.compile(mod, "llvm")                                # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import tvm

from tvm_megcc import passes as _passes
from tvm_megcc.byoc.default import CompileRegions
from tvm_megcc.byoc.default import with_regions as _with_regions
from tvm_megcc.byoc.partition import PartitionForMegcc
from tvm_megcc.legalise import ScalarsApart
from tvm_megcc.legalise.casts_apart import CastsApart
from tvm_megcc.legalise.fuse_named import FuseNamed
from tvm_megcc.legalise.named_sizes import NameSizes, WriteSizes
from tvm_megcc.legalise.own_scans import OwnScans
from tvm_megcc.passes import (
    AdjacentAxes,
    ByteTables,
    CacheDtype,
    CallExterns,
    ChannelsFirst,
    ChannelsLast,
    DepthwiseMultiples,
    ExpandQuantised,
    FoldConstants,
    FoldScaleShift,
    ForwardMemory,
    Generate,
    HalfPrecision,
    HoldCasts,
    ImplicitBroadcast,
    IntegerForm,
    IntegerPorts,
    LastPosition,
    LegaliseRest,
    MaterialiseKernels,
    NarrowBf16Weights,
    NarrowMoves,
    PlainConvolutions,
    PointwiseProducts,
    QuantisedMoves,
    ReadSizes,
    ReshapesBelow,
    RoundBf16Weights,
    SettleStretched,
    SizesFirst,
    WholeActivations,
    WholeOperators,
    WidenWeights,
    WindowsTo2d,
    stages,
)
from tvm_megcc.tvm_memory.plan_memory import PlanMemory

__all__ = [
    "AdjacentAxes", "ByteTables", "CacheDtype", "CallExterns", "CastsApart", "ChannelsFirst",
    "ChannelsLast", "CompileRegions", "DepthwiseMultiples", "ExpandQuantised", "FoldConstants",
    "FoldScaleShift", "ForwardMemory",
    "FuseNamed", "Generate", "HalfPrecision", "HoldCasts", "ImplicitBroadcast", "IntegerForm",
    "IntegerPorts", "LastPosition",
    "LegaliseRest", "MaterialiseKernels", "NameSizes", "NarrowBf16Weights", "NarrowMoves",
    "OwnScans", "PartitionForMegcc", "PlainConvolutions", "PlanMemory", "PointwiseProducts",
    "QuantisedMoves", "ReadSizes", "ReshapesBelow", "RoundBf16Weights", "ScalarsApart",
    "SettleStretched", "SizesFirst", "WholeActivations", "WholeOperators", "WidenWeights",
    "WindowsTo2d", "WriteSizes", "kernels", "pipeline", "stages",
]  # fmt: skip


def pipeline(arch: Any = None, threads: int | None = None) -> tvm.ir.transform.Pass:
    """What makes a module run with our kernels in ``relax.VirtualMachine``: `PartitionForMegcc`
    and `CompileRegions`. ``tvm.compile`` takes the result for any CPU target of that machine.

    Parameters
    ----------
    arch, threads
        As for `tvm_megcc.partition_for_megcc`.
    """
    return _with_regions(arch, threads)


def kernels(arch: str) -> tvm.ir.transform.Pass:
    """All `stages` as one pass: the module that our own compiler lowers to a package.

    TVM cannot run it: its kernels are C files by name. See `pipeline` for what TVM runs.
    """
    return _passes.pipeline(arch)
