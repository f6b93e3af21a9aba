"""Networks that find objects in images."""

from __future__ import annotations

import numpy as np

from .graph import Graph, network

ANY_BATCH = {"batch": 1}, {"batch": 2}
ANY_SIDES = {"height": 64, "width": 64}, {"height": 96, "width": 128}


def stem(g: Graph, x: str, widths: tuple[int, ...]) -> list[str]:
    """Maps of halved sides: strided convolutions with a residual block at each."""
    found, read = [], 3
    for width in widths:
        x = g.conv(x, read, width, 3, 2, act=g.silu)
        y = g.conv(x, width, width, 3, act=g.silu)
        x, read = g.add(x, g.conv(y, width, width, 3, act=g.silu)), width
        found.append(x)
    return found


def sine_positions(g: Graph, like: str, width: int) -> str:
    """DETR's sines of rows and columns, summed up at run time; (1, h * w, width)."""
    ones = g.op("ConstantOfShape", g.concat(g.ints(1), g.size(like, 2), g.size(like, 3), axis=0))
    ones = g.add(ones, g.const(1))
    power = 100.0 ** (2 * (np.arange(width // 2) // 2) / (width // 2))
    sides = []
    for axis in (1, 2):
        count = g.op("CumSum", ones, g.const(axis, np.int64))
        last = g.cut(count, -1, 2**63 - 1, axis)
        count = g.op("Div", count, g.add(last, g.const(1e-6)))
        angle = g.op("Div", g.unsqueeze(g.scaled(count, 2 * np.pi), 3), g.const(power))
        even, odd = (g.cut(angle, k, 2**63 - 1, 3, 2) for k in (0, 1))
        pair = g.op("Concat", g.unsqueeze(g.op("Sin", even), 4), g.unsqueeze(g.op("Cos", odd), 4),
                    axis=4)  # fmt: skip
        sides.append(g.reshape(pair, 0, 0, 0, -1))
    return g.reshape(g.concat(*sides, axis=3), 1, -1, width)


def cross(g: Graph, q: str, k: str, v: str, width: int, heads: int) -> str:
    each = width // heads
    q, k, v = (g.heads(g.linear(x, width, width), heads, each) for x in (q, k, v))
    return g.linear(g.merged(g.attend(q, k, v, each), width), width, width)


def detr_net(g: Graph, x: str) -> None:
    width, count = 64, 10
    maps = stem(g, x, (16, 32, 48, 64))[-1]
    at = sine_positions(g, maps, width)
    y = g.tokens(g.conv(maps, 64, width), width)
    for _ in range(2):
        placed = g.add(y, at)
        y = g.norm(g.add(y, cross(g, placed, placed, y, width, 4)), width)
        y = g.norm(g.add(y, g.feed(y, width, 128, g.relu)), width)
    query = g.bias(1, count, width, scale=1)
    shape = g.concat(g.size(y, 0), g.ints(count), g.ints(width), axis=0)
    z = g.op("ConstantOfShape", shape)
    for _ in range(2):
        placed = g.add(z, query)
        z = g.norm(g.add(z, cross(g, placed, placed, z, width, 4)), width)
        z = g.norm(g.add(z, cross(g, g.add(z, query), g.add(y, at), y, width, 4)), width)
        z = g.norm(g.add(z, g.feed(z, width, 128, g.relu)), width)
    g.output(g.linear(z, width, 12), 3, "logits")
    boxes = g.linear(g.relu(g.linear(z, width, width)), width, 4)
    g.output(g.op("Sigmoid", boxes), 3, "boxes")


@network("old", *ANY_SIDES)
def detr(g: Graph) -> None:
    detr_net(g, g.input("image", 1, 3, "height", "width"))


@network("new", *ANY_BATCH)
def detr_batch(g: Graph) -> None:
    detr_net(g, g.input("image", "batch", 3, 64, 64))


def sampled(g: Graph, value: str, side: int, at: str, weights: str, heads: int, each: int) -> str:
    """Deformable attention: GridSample of (n * heads, each, side, side) at (n, q, heads, p, 2)."""
    image = g.reshape(g.transpose(value, 0, 2, 1), -1, each, side, side)
    grid = g.op("Sub", g.scaled(at, 2), g.const(1))
    grid = g.reshape(g.transpose(grid, 0, 2, 1, 3, 4), -1, 10, 4, 2)
    mode = "linear" if g.opset >= 20 else "bilinear"
    found = g.op("GridSample", image, grid, mode=mode, padding_mode="zeros", align_corners=0)
    weights = g.reshape(g.transpose(weights, 0, 2, 1, 3), -1, 1, 10, 4)
    total = g.reduce("ReduceSum", g.mul(found, weights), 3, keep=False)
    return g.transpose(g.reshape(total, -1, heads * each, 10), 0, 2, 1)


@network("old", *ANY_BATCH)
def rt_detr(g: Graph) -> None:
    """Queries are the ten best tokens (TopK, GatherElements); the decoder samples the image."""
    width, heads, each, side = 64, 4, 16, 8
    x = g.input("image", "batch", 3, 64, 64)
    maps = stem(g, x, (16, 32, 64))[-1]
    memory = g.tokens(maps, width)
    memory = g.add(memory, g.attention(g.norm(memory, width), width, heads))
    memory = g.norm(memory, width)
    classes = g.linear(memory, width, 12)
    best = g.reduce("ReduceMax", classes, -1, keep=False)
    _, index = g.op("TopK", best, g.ints(10), count=2, axis=1)
    shape = g.concat(g.size(memory, 0), g.ints(10), g.ints(width), axis=0)
    index = g.op("Expand", g.unsqueeze(index, 2), shape)
    z = g.op("GatherElements", memory, index, axis=1)
    boxes = g.op("Sigmoid", g.linear(z, width, 4))
    for _ in range(2):
        z = g.norm(g.add(z, g.attention(z, width, heads)), width)
        value = g.linear(memory, width, width)
        offset = g.reshape(g.linear(z, width, heads * 8), g.size(z, 0), 10, heads, 4, 2)
        weights = g.reshape(g.linear(z, width, heads * 4), g.size(z, 0), 10, heads, 4)
        weights = g.op("Softmax", weights, axis=-1)
        centre, extent = (g.unsqueeze(g.cut(boxes, a, a + 2, 2), 2, 3) for a in (0, 2))
        at = g.add(centre, g.mul(g.scaled(offset, 0.125), extent))
        found = sampled(g, value, side, at, weights, heads, each)
        z = g.norm(g.add(z, g.linear(found, width, width)), width)
        z = g.norm(g.add(z, g.feed(z, width, 128, g.relu)), width)
        odds = g.op("Clip", boxes, g.const(1e-3), g.const(0.999))
        odds = g.op("Log", g.op("Div", odds, g.op("Sub", g.const(1), odds)))
        boxes = g.op("Sigmoid", g.add(g.linear(z, width, 4), odds))
    g.output(g.linear(z, width, 12), 3, "logits")
    g.output(boxes, 3, "boxes")


def c2f(g: Graph, x: str, read: int, width: int) -> str:
    """YOLO 8's block: halves, one of them through a bottleneck, all joined."""
    half = width // 2
    y = g.conv(x, read, width, act=g.silu)
    a, b = g.split(y, (half, half), 1)
    z = g.conv(g.conv(b, half, half, 3, act=g.silu), half, half, 3, act=g.silu)
    return g.conv(g.concat(a, b, g.add(b, z), axis=1), 3 * half, width, act=g.silu)


def fast_pyramid_pool(g: Graph, x: str, width: int) -> str:
    y = g.conv(x, width, width // 2, act=g.silu)
    parts = [y]
    for _ in range(3):
        parts.append(g.max_pool(parts[-1], 5, 1, 2))
    return g.conv(g.concat(*parts, axis=1), 2 * width, width, act=g.silu)


def position_attention(g: Graph, x: str, width: int) -> str:
    """YOLO 11's block of attention over pixels, a convolution added to the values."""
    heads, each, key = width // 32, 32, 16
    qkv = g.conv(x, width, heads * (each + 2 * key))
    qkv = g.reshape(qkv, g.size(x, 0), heads, each + 2 * key, -1)
    q, k, v = g.split(qkv, (key, key, each), 2)
    score = g.scaled(g.op("MatMul", g.transpose(q, 0, 1, 3, 2), k), key**-0.5)
    score = g.op("Softmax", score, axis=-1)
    y = g.op("MatMul", v, g.transpose(score, 0, 1, 3, 2))
    sizes = g.size(x, 0), width, g.size(x, 2), g.size(x, 3)
    y = g.add(g.reshape(y, *sizes), g.conv(g.reshape(v, *sizes), width, width, 3, groups=width))
    x = g.add(x, g.conv(y, width, width))
    z = g.conv(x, width, 2 * width, act=g.silu)
    return g.add(x, g.conv(z, 2 * width, width))


def anchors(g: Graph, maps: list[tuple[str, int]]) -> tuple[str, str]:
    """Centres (1, 2, all) of the cells of maps, and their strides (1, all), made at run time."""
    zero, one = g.const(0, np.int64), g.const(1, np.int64)
    centres, strides = [], []
    for value, stride in maps:
        rows, columns = (
            g.add(g.op("Cast", g.op("Range", zero, g.squeeze(g.size(value, k), 0), one), to=1),
                  g.const(0.5)) for k in (2, 3)
        )  # fmt: skip
        shape = g.concat(g.size(value, 2), g.size(value, 3), axis=0)
        y = g.reshape(g.op("Expand", g.unsqueeze(rows, 1), shape), 1, -1)
        x = g.reshape(g.op("Expand", g.unsqueeze(columns, 0), shape), 1, -1)
        centres.append(g.unsqueeze(g.concat(x, y, axis=0), 0))
        like = g.op("ConstantOfShape", g.op("Shape", x))
        strides.append(g.add(like, g.const(stride)))
    return g.concat(*centres, axis=2), g.concat(*strides, axis=1)


def yolo_head(g: Graph, maps: list[tuple[str, int, int]], light: bool) -> None:
    """Boxes as distributions of 16 distances (DFL), classes beside them, all scales joined."""
    flat = []
    for value, width, _ in maps:
        box = g.conv(value, width, 32, 3, act=g.silu)
        box = g.conv(g.conv(box, 32, 32, 3, act=g.silu), 32, 64, gain=32)
        if light:
            kind = g.conv(value, width, width, 3, groups=width, act=g.silu)
            kind = g.conv(kind, width, 32, act=g.silu)
        else:
            kind = g.conv(value, width, 32, 3, act=g.silu)
        kind = g.conv(kind, 32, 20, gain=32)
        both = g.concat(box, kind, axis=1)
        flat.append(g.reshape(both, g.size(both, 0), 84, -1))
    box, kind = g.split(g.concat(*flat, axis=2), (64, 20), 1)
    box = g.transpose(g.reshape(box, g.size(box, 0), 4, 16, -1), 0, 2, 1, 3)
    box = g.op("Softmax", box, axis=1)
    steps = g.held(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
    distance = g.op("Conv", box, steps, kernel_shape=[1, 1])
    distance = g.reshape(distance, g.size(distance, 0), 4, -1)
    centres, strides = anchors(g, [(value, stride) for value, _, stride in maps])
    low, high = g.split(distance, (2, 2), 1)
    begin, end = g.op("Sub", centres, low), g.add(centres, high)
    middle = g.op("Div", g.add(begin, end), g.const(2))
    box = g.mul(g.concat(middle, g.op("Sub", end, begin), axis=1), strides)
    g.output(g.concat(box, g.op("Sigmoid", kind), axis=1), 3)


def yolo_neck(g: Graph, x: str, attention: bool) -> list[tuple[str, int, int]]:
    y = g.conv(x, 3, 16, 3, 2, act=g.silu)
    y = c2f(g, g.conv(y, 16, 32, 3, 2, act=g.silu), 32, 32)
    third = c2f(g, g.conv(y, 32, 32, 3, 2, act=g.silu), 32, 32)
    fourth = c2f(g, g.conv(third, 32, 64, 3, 2, act=g.silu), 64, 64)
    fourth = fast_pyramid_pool(g, fourth, 64)
    if attention:
        fourth = position_attention(g, fourth, 64)
    up = c2f(g, g.concat(g.upsample(fourth), third, axis=1), 96, 32)
    down = g.conv(up, 32, 32, 3, 2, act=g.silu)
    down = c2f(g, g.concat(down, fourth, axis=1), 96, 64)
    return [(up, 32, 8), (down, 64, 16)]


@network("old")
def yolo8(g: Graph) -> None:
    yolo_head(g, yolo_neck(g, g.input("image", 1, 3, 96, 96), False), False)


@network("old", *ANY_SIDES)
def yolo8_open(g: Graph) -> None:
    yolo_head(g, yolo_neck(g, g.input("image", 1, 3, "height", "width"), False), False)


@network("new", *ANY_BATCH)
def yolo11(g: Graph) -> None:
    yolo_head(g, yolo_neck(g, g.input("image", "batch", 3, 64, 64), True), True)


@network("old")
def ssdlite(g: Graph) -> None:
    """Boxes of prior boxes, and the ones that NonMaxSuppression keeps of the best class."""
    x = g.input("image", 1, 3, 96, 96)
    y, read = g.conv(x, 3, 16, 3, 2, act=g.relu6), 16
    maps = []
    for width, stride in ((24, 2), (32, 2), (48, 2)):
        z = g.conv(y, read, 4 * read, act=g.relu6)
        z = g.conv(z, 4 * read, 4 * read, 3, stride, groups=4 * read, act=g.relu6)
        y, read = g.conv(z, 4 * read, width), width
        maps.append((y, width))
    boxes, kinds, count = [], [], 0
    for (value, width), side in zip(maps[1:], (12, 6), strict=True):
        for made, found in ((6 * 4, boxes), (6 * 5, kinds)):
            z = g.conv(value, width, width, 3, groups=width, act=g.relu6)
            z = g.transpose(g.conv(z, width, made), 0, 2, 3, 1)
            found.append(g.reshape(z, 1, -1, made // 6))
        count += 6 * side * side
    box = g.concat(*boxes, axis=1)
    prior = g.held(g.rng.uniform(0.1, 0.9, (1, count, 4)).astype(np.float32))
    centre, extent = (g.cut(prior, a, a + 2, 2) for a in (0, 2))
    shift, grow = (g.cut(box, a, a + 2, 2) for a in (0, 2))
    middle = g.add(g.mul(g.scaled(shift, 0.1), extent), centre)
    half = g.scaled(g.mul(g.op("Exp", g.scaled(grow, 0.2)), extent), 0.5)
    box = g.concat(g.op("Sub", middle, half), g.add(middle, half), axis=2)
    kind = g.op("Softmax", g.concat(*kinds, axis=1), axis=-1)
    score = g.transpose(kind, 0, 2, 1)
    limits = g.const(10, np.int64), g.const(0.5), g.const(0.25)
    kept = g.op("NonMaxSuppression", box, g.cut(score, 1, 5, 1), *limits)
    index = g.op("Gather", kept, g.const(2, np.int64), axis=1)
    g.output(g.op("Gather", box, index, axis=1), 3, "boxes")
    g.output(kept, 2, "kept", kind=7)
