"""com.microsoft::Attention."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.attention import appended, attended, heads, masked_scores


class Attention(OnnxOp):
    """Queries, keys and values by one product with merged weights, then attention.

    Operands: input, weights, bias, mask, past, attention bias. Results: the output and the present.
    """

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [[] for _ in shapes]
        labels[:2] = [[None, None, "hidden"], ["hidden", "merged"]]
        if len(shapes) > 2:
            labels[2] = ["merged"]
        return labels

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        for name in ("do_rotary", "past_present_share_buffer"):
            if attrs.get(name, 0):
                raise ctx.unsupported(f"{name}", "export without it")
        op = relax.op
        merged = ctx.emit(op.matmul(inputs[0], inputs[1]))
        if inputs.has(2):
            merged = ctx.emit(op.add(merged, inputs[2]))
        (width,) = ctx.static(inputs.shape(1)[1:])
        sizes = attrs.get("qkv_hidden_sizes") or [width // 3] * 3
        if len(sizes) != 3 or sum(sizes) != width:
            raise ctx.ill_typed(f"its weights have {width} columns for heads of {sizes}")
        ends = [0, sizes[0], sizes[0] + sizes[1], sum(sizes)]
        q, k, v = (
            heads(ctx, ctx.emit(op.strided_slice(merged, [2], [a], [b], [1])), attrs["num_heads"])
            for a, b in zip(ends, ends[1:], strict=False)
        )
        past: list[relax.Expr | None] = [None, None]
        if inputs.has(4):
            past = [ctx.emit(op.take(inputs[4], ctx.const(i, "int64"), axis=0)) for i in (0, 1)]
        k, v = appended(ctx, past[0], k), appended(ctx, past[1], v)
        found = masked_scores(ctx, inputs, attrs, q, k, 3, past[0])
        output = attended(ctx, ctx.emit(op.nn.softmax(found, -1)), v)
        if not ctx.wants(1):
            return output
        return output, op.stack([k, v], axis=0)
