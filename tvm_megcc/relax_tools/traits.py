"""Relax's operators by what they do: one table of sets of names, for every room that asks.

A set that a pass needs for itself is said as arithmetic on these, with the reason beside it.

Example
-------
>>> "relax.nn.conv2d" in CONVOLUTIONS
True
"""

from __future__ import annotations


def named(text: str) -> frozenset[str]:
    """The operators of these words: ``add nn.relu`` is ``relax.add`` and ``relax.nn.relu``."""
    return frozenset("relax." + word for word in text.split())


#: One element of the result for each of the first operand; no other tensor is read.
UNARY = named("""
    abs acos acosh asin asinh atan atanh bitwise_not ceil clip cos cosh erf exp floor isfinite
    isinf isnan log logical_not negative round rsqrt sigmoid sign sin sinh sqrt square tan
    tanh trunc astype nn.relu nn.relu6 nn.gelu nn.gelu_tanh nn.silu nn.leakyrelu nn.softplus
    nn.selu
""")
COMPARISONS = named("equal not_equal less less_equal greater greater_equal")
ARITHMETIC = named("add subtract multiply divide maximum minimum")
#: Elementwise operators whose operands are broadcast against each other.
BROADCAST = (
    ARITHMETIC
    | COMPARISONS
    | named("""
    floor_divide mod floor_mod power logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor where
""")
)
REDUCE = named("max mean min prod std sum variance")

#: The same elements in the same order, under another shape.
RESHAPES = named("reshape expand_dims squeeze flatten")
#: All elements of the operand once each.
PERMUTES = RESHAPES | named("permute_dims")
#: Elements of the operand, each unchanged, of which some may be left out.
MOVES = PERMUTES | named("strided_slice")
#: The same, but elements may be there several times.
COPIES = MOVES | named("repeat tile flip")

PLAIN_CONVOLUTIONS = named("nn.conv1d nn.conv2d nn.conv3d")
TRANSPOSED_CONVOLUTIONS = frozenset(f"{name}_transpose" for name in PLAIN_CONVOLUTIONS)
CONVOLUTIONS = PLAIN_CONVOLUTIONS | TRANSPOSED_CONVOLUTIONS
MATMUL = "relax.matmul"
#: Sums of products of two operands.
PRODUCTS = CONVOLUTIONS | {MATMUL}
MAX_POOLS = named("nn.max_pool1d nn.max_pool2d nn.max_pool3d")
AVERAGE_POOLS = named("nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d")
ADAPTIVE_POOLS = named("nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d")
POOLS = MAX_POOLS | AVERAGE_POOLS | ADAPTIVE_POOLS
