"""Networks that make images: StyleGAN, diffusion, decoders, super resolution, U-Nets."""

from __future__ import annotations

import numpy as np

from .graph import Graph, network

ANY_BATCH = {"batch": 1}, {"batch": 2}
ANY_SIDES = {"height": 24, "width": 24}, {"height": 40, "width": 32}


def modulated(
    g: Graph, x: str, style: str, read: int, made: int, k: int, batch: int, demodulate: bool = True
) -> str:
    """StyleGAN 2's convolution: weights scaled by a style at run time, a group for each image."""
    kernel = g.weight(1, made, read, k, k, fan=read * k * k)
    factors = g.reshape(g.gemm(style, 32, read), -1, 1, read, 1, 1)
    kernel = g.mul(kernel, g.add(factors, g.const(1)))
    if demodulate:
        total = g.reduce("ReduceSum", g.op("Pow", kernel, g.const(2)), 2, 3, 4)
        root = g.op("Sqrt", g.add(total, g.const(1e-8)))
        kernel = g.mul(kernel, g.op("Div", g.const(1), root))
    sides = g.size(x, 2), g.size(x, 3)
    flat = g.reshape(kernel, -1, read, k, k)
    y = g.reshape(x, 1, -1, *sides)
    pads = [k // 2] * 4
    y = g.op("Conv", y, flat, kernel_shape=[k, k], pads=pads, group=batch, strides=[1, 1])
    return g.reshape(y, -1, made, *sides)


def stylegan_net(g: Graph, batch: int) -> None:
    z = g.input("z", batch, 32)
    length = g.reduce("ReduceMean", g.op("Pow", z, g.const(2)), 1)
    w = g.op("Div", z, g.op("Sqrt", g.add(length, g.const(1e-8))))
    for _ in range(2):
        w = g.leaky(g.gemm(w, 32, 32))
    start = g.weight(1, 32, 8, 8, fan=1)
    x = g.op("Expand", start, g.ints(batch, 32, 8, 8))
    image, read = None, 32
    for made in (32, 16):
        x = g.upsample(x, "linear")
        x = modulated(g, x, w, read, made, 3, batch)
        noise = g.held(g.rng.standard_normal((1, 1, *[16 if made == 32 else 32] * 2)).astype("f4"))
        x = g.leaky(g.add(g.add(x, g.scaled(noise, 0.1)), g.bias(1, made, 1, 1)))
        colours = modulated(g, x, w, made, 3, 1, batch, demodulate=False)
        image = g.add(g.upsample(image, "linear"), colours) if image else colours
        read = made
    assert image
    g.output(image, 4, "image")


@network("old")
def stylegan(g: Graph) -> None:
    stylegan_net(g, 1)


@network("new")
def stylegan_pair(g: Graph) -> None:
    stylegan_net(g, 2)


def time_vector(g: Graph, step: str, width: int) -> str:
    """Sines and cosines of the diffusion's step (n), and two layers."""
    rate = np.exp(-np.log(10000.0) * np.arange(width // 2) / (width // 2))
    at = g.op("Cast", g.unsqueeze(step, 1), to=1)
    angle = g.mul(at, g.held(rate.astype(np.float32)[None]))
    y = g.concat(g.op("Cos", angle), g.op("Sin", angle), axis=1)
    return g.gemm(g.silu(g.gemm(y, width, 2 * width)), 2 * width, 2 * width)


def residual(g: Graph, x: str, t: str, read: int, made: int) -> str:
    y = g.conv(g.silu(g.group_norm(x, read, 8)), read, made, 3)
    y = g.add(y, g.unsqueeze(g.gemm(g.silu(t), 64, made), 2, 3))
    y = g.conv(g.silu(g.group_norm(y, made, 8)), made, made, 3)
    return g.add(g.conv(x, read, made) if read != made else x, y)


def spatial(g: Graph, x: str, text: str, width: int) -> str:
    """Attention to the pixels, to the text, and GEGLU, between two 1x1 convolutions."""
    y = g.conv(g.group_norm(x, width, 8), width, width)
    y = g.tokens(y, width)
    y = g.add(y, g.attention(g.norm(y, width), width, 2))
    y = g.add(y, g.attention(g.norm(y, width), width, 2, text))
    both = g.linear(g.norm(y, width), width, 8 * width)
    value, gate = g.split(both, (4 * width, 4 * width), 2)
    y = g.add(y, g.linear(g.mul(value, g.gelu(gate)), 4 * width, width))
    return g.add(x, g.conv(g.images(y, width, x), width, width))


def diffusion_net(g: Graph, batch: int | str, height: int | str, width: int | str) -> None:
    """Two scales of Stable Diffusion's U-Net."""
    x = g.input("sample", batch, 4, height, width)
    step = g.input("timestep", batch, high=1000)
    text = g.input("text", batch, 8, 64)
    t = time_vector(g, step, 32)
    first = residual(g, g.conv(x, 4, 32, 3), t, 32, 32)
    y = residual(g, g.conv(first, 32, 32, 3, 2), t, 32, 64)
    y = spatial(g, y, text, 64)
    y = residual(g, y, t, 64, 64)
    y = g.concat(g.conv(g.upsample(y), 64, 32, 3), first, axis=1)
    y = residual(g, y, t, 64, 32)
    g.output(g.conv(g.silu(g.group_norm(y, 32, 8)), 32, 4, 3), 4)


@network("old", *ANY_BATCH)
def diffusion_unet(g: Graph) -> None:
    diffusion_net(g, "batch", 16, 16)


@network("new", {"height": 16, "width": 16}, {"height": 24, "width": 16})
def diffusion_unet_sides(g: Graph) -> None:
    diffusion_net(g, 1, "height", "width")


@network("new", *ANY_BATCH)
def diffusion_transformer(g: Graph) -> None:
    """DiT: norms without weights, shifts and scales of the step, patches put together again."""
    x = g.input("sample", "batch", 4, 16, 16)
    t = time_vector(g, g.input("timestep", "batch", high=1000), 32)
    y = g.tokens(g.conv(x, 4, 64, 2, 2, pads=[0] * 4), 64)
    y = g.add(y, g.bias(1, 64, 64, scale=1))
    one, zero = g.held(np.ones(64, np.float32)), g.held(np.zeros(64, np.float32))

    def moved(z: str, shift: str, scale: str) -> str:
        z = g.op("LayerNormalization", z, one, zero, axis=-1, epsilon=1e-6)
        return g.add(g.mul(z, g.add(g.unsqueeze(scale, 1), g.const(1))), g.unsqueeze(shift, 1))

    for _ in range(2):
        parts = g.split(g.gemm(g.silu(t), 64, 384), (64,) * 6, 1)
        z = g.attention(moved(y, *parts[:2]), 64, 2)
        y = g.add(y, g.mul(g.unsqueeze(parts[2], 1), z))
        z = g.feed(moved(y, *parts[3:5]), 64, 256, g.gelu_tanh)
        y = g.add(y, g.mul(g.unsqueeze(parts[5], 1), z))
    y = g.reshape(g.linear(y, 64, 16), -1, 8, 8, 2, 2, 4)
    y = g.reshape(g.transpose(y, 0, 5, 1, 3, 2, 4), -1, 4, 16, 16)
    g.output(y, 4)


@network("old", {"height": 8, "width": 8}, {"height": 12, "width": 8})
def vae_decoder(g: Graph) -> None:
    x = g.conv(g.input("latent", 1, 4, "height", "width"), 4, 32, 3)
    z = g.tokens(g.group_norm(x, 32, 8), 32)
    x = g.add(x, g.images(g.attention(z, 32, 1), 32, x))
    for _ in range(2):
        y = g.conv(g.silu(g.group_norm(x, 32, 8)), 32, 32, 3)
        x = g.add(x, g.conv(g.silu(g.group_norm(y, 32, 8)), 32, 32, 3))
        x = g.conv(g.upsample(x), 32, 32, 3)
    g.output(g.conv(g.silu(g.group_norm(x, 32, 8)), 32, 3, 3), 4)


@network("old", *ANY_SIDES)
def super_resolution(g: Graph) -> None:
    """ESPCN: PixelShuffle is DepthToSpace."""
    x = g.input("image", 1, 1, "height", "width")
    y = g.conv(g.conv(x, 1, 32, 5, act=g.relu), 32, 16, 3, act=g.relu)
    y = g.conv(y, 16, 9, 3)
    g.output(g.op("DepthToSpace", y, blocksize=3, mode="CRD"), 4)


@network("new", *ANY_SIDES)
def super_resolution_reshaped(g: Graph) -> None:
    """EDSR with PixelShuffle in pieces: Reshape, Transpose, Reshape, as torch decomposes it."""
    x = g.input("image", 1, 3, "height", "width")
    y = first = g.conv(x, 3, 16, 3)
    for _ in range(2):
        y = g.add(y, g.scaled(g.conv(g.conv(y, 16, 16, 3, act=g.relu), 16, 16, 3), 0.5))
    y = g.conv(g.add(first, g.conv(y, 16, 16, 3)), 16, 64, 3)
    high, wide = g.size(y, 2), g.size(y, 3)
    y = g.transpose(g.reshape(y, 1, 16, 2, 2, high, wide), 0, 1, 4, 2, 5, 3)
    two = g.ints(2)
    y = g.reshape(y, 1, 16, g.mul(high, two), g.mul(wide, two))
    g.output(g.conv(y, 16, 3, 3), 4)


def unet_net(g: Graph, x: str, transposed: bool) -> None:
    def double(y: str, read: int, made: int) -> str:
        return g.conv(g.conv(y, read, made, 3, act=g.relu), made, made, 3, act=g.relu)

    maps, y, read = [], x, 3
    for width in (16, 32, 48):
        y = double(g.max_pool(y, 2, 2, 0) if maps else y, read, width)
        maps.append(y)
        read = width
    for k, width in ((1, 32), (0, 16)):
        if transposed:
            y = g.conv_transpose(y, read, width, 2, 2, 0)
        else:
            y = g.conv(g.resize_as(y, maps[k]), read, width)
        y, read = double(g.concat(maps[k], y, axis=1), 2 * width, width), width
    g.output(g.conv(y, 16, 2), 4)


@network("old")
def unet(g: Graph) -> None:
    unet_net(g, g.input("image", 1, 3, 64, 64), True)


@network("old", {"height": 32, "width": 48}, {"height": 37, "width": 53})
def unet_resized(g: Graph) -> None:
    """Sides that two does not divide: maps are resized to those that they join."""
    unet_net(g, g.input("image", 1, 3, "height", "width"), False)
