"""Networks of images: classification and segmentation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .graph import Graph, network

Act = Callable[[str], str]
ANY_BATCH = {"batch": 1}, {"batch": 3}
ANY_SIDES = {"height": 64, "width": 64}, {"height": 96, "width": 64}


def patches(g: Graph, x: str, width: int, side: int) -> str:
    y = g.conv(x, 3, width, side, side, pads=[0] * 4)
    return g.tokens(y, width)


def class_token(g: Graph, x: str, width: int, count: int = 1) -> str:
    token = g.bias(1, count, width, scale=1)
    shape = g.concat(g.size(x, 0), g.ints(-1), g.ints(-1), axis=0)
    # torch.expand: -1 keeps a dim, so ones take its place.
    kept = g.op("Equal", shape, g.ints(-1, -1, -1))
    shape = g.op("Where", kept, g.ints(1, 1, 1), shape)
    return g.concat(g.op("Expand", token, shape), x, axis=1)


@network("old", *ANY_BATCH)
def vit(g: Graph) -> None:
    x = g.input("image", "batch", 3, 64, 64)
    y = class_token(g, patches(g, x, 96, 8), 96)
    y = g.add(y, g.bias(1, 65, 96))
    for _ in range(3):
        y = g.block(y, 96, 3)
    y = g.op("Gather", g.norm(y, 96), g.const(0, np.int64), axis=1)
    g.output(g.gemm(y, 96, 100), 2)


@network("new", *ANY_BATCH)
def deit(g: Graph) -> None:
    x = g.input("image", "batch", 3, 64, 64)
    y = class_token(g, patches(g, x, 96, 8), 96, 2)
    y = g.add(y, g.bias(1, 66, 96))
    for _ in range(3):
        y = g.block(y, 96, 3)
    y = g.norm(y, 96)
    ends = [g.gemm(g.op("Gather", y, g.const(k, np.int64), axis=1), 96, 100) for k in range(2)]
    g.output(g.scaled(g.add(*ends), 0.5), 2)


def convnext_block(g: Graph, x: str, width: int) -> str:
    y = g.conv(x, width, width, 7, groups=width)
    y = g.feed(g.norm(g.transpose(y, 0, 2, 3, 1), width), width, 4 * width)
    y = g.mul(g.bias(width, around=0.5), y)
    return g.add(x, g.transpose(y, 0, 3, 1, 2))


def convnext_net(g: Graph, x: str) -> None:
    y = g.norm_channels(g.conv(x, 3, 32, 4, 4, pads=[0] * 4), 32)
    for k, width in enumerate((32, 64, 96)):
        if k:
            last = (32, 64, 96)[k - 1]
            y = g.conv(g.norm_channels(y, last), last, width, 2, 2, pads=[0] * 4)
        y = convnext_block(g, y, width)
    g.output(g.gemm(g.norm(g.pool(y), 96), 96, 100), 2)


@network("old")
def convnext(g: Graph) -> None:
    convnext_net(g, g.input("image", 1, 3, 64, 64))


@network("new", *ANY_BATCH)
def convnext_open(g: Graph) -> None:
    convnext_net(g, g.input("image", "batch", 3, 64, 64))


def swin_net(g: Graph, x: str) -> None:
    """Windows of 4 x 4 among 16 x 16 tokens; every second layer rolls them by 2."""
    side, window, width = 16, 4, 48
    y = g.norm(patches(g, x, width, 4), width)
    for shift in (0, 2):
        z = g.reshape(g.norm(y, width), g.size(y, 0), side, side, width)
        if shift:
            for axis in (1, 2):  # torch.roll
                z = g.concat(g.cut(z, shift, 2**31, axis), g.cut(z, 0, shift, axis), axis=axis)
        z = g.reshape(z, g.size(z, 0), side // window, window, side // window, window, width)
        z = g.reshape(g.transpose(z, 0, 1, 3, 2, 4, 5), -1, window * window, width)
        qkv = g.reshape(g.linear(z, width, 3 * width), g.size(z, 0), 16, 3, 3, 16)
        qkv = g.transpose(qkv, 2, 0, 3, 1, 4)
        q, k, v = (g.op("Gather", qkv, g.const(n, np.int64), axis=0) for n in range(3))
        z = g.attend(q, k, v, 16, g.bias(1, 3, 16, 16))
        z = g.linear(g.merged(z, width), width, width)
        count = side // window
        z = g.reshape(z, -1, count, count, window, window, width)
        z = g.reshape(g.transpose(z, 0, 1, 3, 2, 4, 5), -1, side, side, width)
        if shift:
            for axis in (1, 2):
                z = g.concat(g.cut(z, -shift, 2**31, axis), g.cut(z, 0, -shift, axis), axis=axis)
        y = g.add(y, g.reshape(z, g.size(z, 0), side * side, width))
        y = g.add(y, g.feed(g.norm(y, width), width, 4 * width))
    z = g.reshape(y, g.size(y, 0), side, side, width)  # patch merging
    parts = [g.cut(g.cut(z, a, 2**31, 1, 2), b, 2**31, 2, 2) for b in (0, 1) for a in (0, 1)]
    z = g.linear(g.norm(g.concat(*parts, axis=3), 4 * width), 4 * width, 2 * width, bias=False)
    z = g.reduce("ReduceMean", g.norm(z, 2 * width), 1, 2, keep=False)
    g.output(g.gemm(z, 2 * width, 100), 2)


@network("old", *ANY_BATCH)
def swin(g: Graph) -> None:
    swin_net(g, g.input("image", "batch", 3, 64, 64))


@network("new")
def swin_fixed(g: Graph) -> None:
    swin_net(g, g.input("image", 1, 3, 64, 64))


@network("old", *ANY_SIDES)
def segformer(g: Graph) -> None:
    """Mix-FFN, keys and values of reduced images, a decoder that resizes to the first scale."""
    y = g.input("image", 1, 3, "height", "width")
    scales, last = [], 3
    for k, (width, reduced) in enumerate(((16, 4), (32, 2), (64, 1))):
        y = g.conv(y, last, width, 7 if k == 0 else 3, 4 if k == 0 else 2)
        z = g.norm(g.tokens(y, width), width)
        memory = normal = g.norm(z, width)
        if reduced > 1:
            image = g.images(normal, width, y)
            less = g.conv(image, width, width, reduced, reduced, pads=[0] * 4)
            memory = g.norm(g.tokens(less, width), width)
        z = g.add(z, g.attention(normal, width, width // 16, memory))
        inner = g.images(g.linear(g.norm(z, width), width, 4 * width), 4 * width, y)
        inner = g.tokens(g.conv(inner, 4 * width, 4 * width, 3, groups=4 * width), 4 * width)
        z = g.add(z, g.linear(g.gelu(inner), 4 * width, width))
        y, last = g.images(g.norm(z, width), width, y), width
        scales.append((y, width))
    first = scales[0][0]
    levels = []
    for level, width in scales:
        z = g.images(g.linear(g.tokens(level, width), width, 32), 32, level)
        levels.append(g.resize_as(z, first))
    z = g.conv(g.concat(*reversed(levels), axis=1), 96, 32, bias=False, act=g.relu)
    g.output(g.conv(z, 32, 19), 4)


@network("new", *ANY_BATCH)
def mlp_mixer(g: Graph) -> None:
    x = g.input("image", "batch", 3, 64, 64)
    y = patches(g, x, 64, 8)
    for _ in range(3):
        z = g.feed(g.transpose(g.norm(y, 64), 0, 2, 1), 64, 32)
        y = g.add(y, g.transpose(z, 0, 2, 1))
        y = g.add(y, g.feed(g.norm(y, 64), 64, 256))
    y = g.reduce("ReduceMean", g.norm(y, 64), 1, keep=False)
    g.output(g.gemm(y, 64, 100), 2)


def inverted(g: Graph, x: str, read: int, made: int, k: int, stride: int, act: Act) -> str:
    """MobileNet's block: a wide depthwise convolution between two 1x1."""
    inner = 4 * read
    y = g.conv(x, read, inner, act=act)
    y = g.conv(y, inner, inner, k, stride, groups=inner, act=act)
    y = g.conv(y, inner, made)
    return g.add(x, y) if stride == 1 and read == made else y


@network("old", *ANY_BATCH)
def mobilenet_v4(g: Graph) -> None:
    """Universal inverted bottlenecks: a depthwise convolution before the 1x1, too; attention."""
    y = g.conv(g.input("image", "batch", 3, 64, 64), 3, 16, 3, 2, act=g.relu)
    y = g.conv(g.conv(y, 16, 32, 3, 2, act=g.relu), 32, 24, act=g.relu)
    read = 24
    for made, k, stride in ((32, 5, 2), (32, 3, 1), (48, 3, 2), (48, 5, 1)):
        z = g.conv(y, read, read, 3, groups=read)
        z = inverted(g, z, read, made, k, stride, g.relu)
        y, read = (g.add(y, z) if stride == 1 else z), made
    query = g.tokens(y, 48)  # keys and values have one head
    less = g.tokens(g.conv(y, 48, 48, 3, 2, groups=48), 48)
    q = g.heads(g.linear(query, 48, 64, False), 4, 16)
    k, v = (g.unsqueeze(g.linear(less, 48, 16, False), 1) for _ in range(2))
    z = g.linear(g.merged(g.attend(q, k, v, 16), 64), 64, 48, False)
    y = g.add(y, g.mul(g.images(z, 48, y), g.bias(48, 1, 1, around=0.1)))
    g.output(g.gemm(g.pool(g.conv(y, 48, 128, act=g.relu)), 128, 100), 2)


@network("new")
def efficientnet_lite(g: Graph) -> None:
    y, read = g.conv(g.input("image", 1, 3, 96, 96), 3, 16, 3, 2, act=g.relu6), 16
    for made, k, stride in ((24, 3, 2), (24, 3, 1), (40, 5, 2), (40, 5, 1), (64, 3, 2)):
        y, read = inverted(g, y, read, made, k, stride, g.relu6), made
    g.output(g.gemm(g.pool(g.conv(y, 64, 160, act=g.relu6)), 160, 100), 2)


@network("old", *ANY_SIDES)
def mobilenet_v3(g: Graph) -> None:
    """Squeeze and excitation by HardSigmoid, HardSwish."""
    y = g.conv(g.input("image", 1, 3, "height", "width"), 3, 16, 3, 2, act=g.hard_swish)
    read = 16
    for made, k, stride in ((24, 3, 2), (24, 3, 1), (40, 5, 2), (40, 5, 1)):
        z = g.conv(y, read, 64, act=g.hard_swish)
        z = g.conv(z, 64, 64, k, stride, groups=64, act=g.hard_swish)
        gate = g.conv(g.op("GlobalAveragePool", z), 64, 16, act=g.relu)
        z = g.mul(z, g.op("HardSigmoid", g.conv(gate, 16, 64), alpha=1 / 6))
        z = g.conv(z, 64, made)
        y, read = (g.add(y, z) if read == made else z), made
    y = g.pool(g.conv(y, 40, 96, act=g.hard_swish))
    g.output(g.gemm(g.hard_swish(g.gemm(y, 96, 128)), 128, 100), 2)


@network("old", *ANY_BATCH)
def resnext(g: Graph) -> None:
    """Groups of eight channels, BatchNormalization that was not folded."""
    y = g.conv(g.input("image", "batch", 3, 64, 64), 3, 32, 7, 2, act=g.relu)
    y, read = g.max_pool(y, 3, 2, 1), 32

    def normal(z: str, width: int) -> str:
        words = [g.bias(width, around=1), g.bias(width), g.bias(width), g.bias(width, around=1)]
        return str(g.op("BatchNormalization", z, *words))

    for width, stride in ((64, 1), (128, 2)):
        z = g.relu(normal(g.conv(y, read, width, bias=False), width))
        z = g.conv(z, width, width, 3, stride, groups=width // 8, bias=False)
        z = normal(g.conv(g.relu(normal(z, width)), width, width, bias=False), width)
        y = g.relu(g.add(z, normal(g.conv(y, read, width, 1, stride, bias=False), width)))
        read = width
    g.output(g.gemm(g.pool(y), 128, 100), 2)


@network("old", *ANY_SIDES)
def deeplab(g: Graph) -> None:
    """Convolutions with dilations beside each other, and a mean that is resized to them."""
    x = g.input("image", 1, 3, "height", "width")
    y = g.conv(g.conv(x, 3, 16, 3, 2, act=g.relu), 16, 32, 3, 2, act=g.relu)
    low = y
    y = g.conv(g.conv(y, 32, 48, 3, 2, act=g.relu), 48, 48, 3, dilation=2, act=g.relu)
    parts = [g.conv(y, 48, 24, act=g.relu)]
    parts += [g.conv(y, 48, 24, 3, dilation=d, act=g.relu) for d in (2, 4, 6)]
    mean = g.conv(g.op("GlobalAveragePool", y), 48, 24, act=g.relu)
    parts.append(g.resize_as(mean, y))
    z = g.resize_as(g.conv(g.concat(*parts, axis=1), 120, 32, act=g.relu), low)
    z = g.concat(z, g.conv(low, 32, 12, act=g.relu), axis=1)
    z = g.conv(g.conv(z, 44, 32, 3, act=g.relu), 32, 21)
    g.output(g.resize_as(z, x), 4)


def linear_attention(g: Graph, x: str, width: int) -> str:
    """EfficientViT's: ReLU in place of the softmax, sums by a column of ones that is padded."""
    qkv = g.conv(x, width, 3 * width, bias=False)
    more = g.conv(qkv, 3 * width, 3 * width, 5, groups=3 * width, bias=False)
    more = g.conv(more, 3 * width, 3 * width, groups=3 * width // 16, bias=False)
    both = g.concat(qkv, more, axis=1)
    both = g.reshape(both, g.size(x, 0), 2 * width // 16, 48, -1)
    q, k, v = (g.cut(both, a, a + 16, 2) for a in (0, 16, 32))
    q, k = g.relu(q), g.relu(k)
    v = g.op("Pad", v, g.ints(0, 0, 0, 0, 0, 0, 1, 0), g.const(1.0), mode="constant")
    found = g.op("MatMul", g.op("MatMul", v, g.transpose(k, 0, 1, 3, 2)), q)
    above, below = g.cut(found, 0, -1, 2), g.cut(found, -1, 2**63 - 1, 2)
    y = g.op("Div", above, g.add(below, g.const(1e-3)))
    y = g.reshape(y, g.size(x, 0), 2 * width, g.size(x, 2), g.size(x, 3))
    return g.add(x, g.conv(y, 2 * width, width))


@network("old", *ANY_SIDES)
def efficientvit(g: Graph) -> None:
    y = g.conv(g.input("image", 1, 3, "height", "width"), 3, 16, 3, 2, act=g.hard_swish)
    read = 16
    for made in (32, 48):
        y, read = inverted(g, y, read, made, 3, 2, g.hard_swish), made
        y = inverted(g, linear_attention(g, y, read), read, read, 3, 1, g.hard_swish)
    g.output(g.gemm(g.pool(g.conv(y, 48, 96, act=g.hard_swish)), 96, 100), 2)


@network("new", *ANY_BATCH)
def fastvit(g: Graph) -> None:
    """Mixers of depthwise convolutions, squeeze and excitation, attention at the last scale."""
    y = g.conv(g.input("image", "batch", 3, 64, 64), 3, 24, 3, 2, act=g.gelu)
    y, read = g.conv(y, 24, 24, 3, 2, groups=24, act=g.gelu), 24
    for width in (24, 48, 96):
        if width != read:
            y = g.conv(y, read, width, 7, 2, groups=read)
            y, read = g.conv(g.gelu(g.squeeze_excite(y, width, 12)), width, width), width
        if width == 96:
            z = g.tokens(g.norm_channels(y, width), width)
            z = g.images(g.attention(z, width, 3), width, y)
            y = g.add(y, g.mul(z, g.bias(width, 1, 1, around=0.2)))
        else:
            y = g.conv(y, width, width, 3, groups=width)
        z = g.conv(y, width, width, 7, groups=width)
        z = g.conv(g.conv(z, width, 3 * width, act=g.gelu), 3 * width, width)
        y = g.add(y, g.mul(z, g.bias(width, 1, 1, around=0.2)))
    y = g.gelu(g.squeeze_excite(g.conv(y, 96, 192, 3, groups=96), 192, 12))
    g.output(g.gemm(g.pool(y), 192, 100), 2)


@network("old", *ANY_BATCH)
def clip_image(g: Graph) -> None:
    """CLIP's images and texts: vectors of length 1, and their products."""
    y = patches(g, g.input("image", "batch", 3, 64, 64), 64, 8)
    y = g.norm(g.add(class_token(g, y, 64), g.bias(1, 65, 64)), 64)
    for _ in range(2):
        y = g.block(y, 64, 2)
    y = g.linear(g.norm(g.op("Gather", y, g.const(0, np.int64), axis=1), 64), 64, 32, bias=False)
    y = g.op("Div", y, g.op("ReduceL2", y, axes=[1], keepdims=1))
    text = g.input("text", 5, 32)
    text = g.op("Div", text, g.op("ReduceL2", text, axes=[1], keepdims=1))
    logits = g.scaled(g.op("MatMul", y, g.transpose(text, 1, 0)), 20)
    g.output(g.op("Softmax", logits, axis=-1), 2)
