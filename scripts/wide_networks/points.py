"""Networks of points and graphs."""

from __future__ import annotations

import numpy as np

from .graph import Graph, network, network_of_both

ANY_POINTS = {"batch": 1, "points": 48}, {"batch": 2, "points": 80}
ANY_GRAPH = {"nodes": 20, "edges": 60}, {"nodes": 33, "edges": 120}


def neighbours(g: Graph, x: str, k: int) -> str:
    """Indices (n, p, k) of the nearest of points (n, c, p), by products and squares."""
    inner = g.scaled(g.op("MatMul", g.transpose(x, 0, 2, 1), x), -2)
    square = g.reduce("ReduceSum", g.op("Pow", x, g.const(2)), 1)
    far = g.op("Sub", g.op("Sub", g.op("Neg", square), inner), g.transpose(square, 0, 2, 1))
    _, index = g.op("TopK", far, g.ints(k), count=2, axis=-1)
    return str(index)


def edge_features(g: Graph, x: str, width: int, k: int) -> str:
    """(n, 2 * width, p, k): each neighbour less the point, and the point."""
    index = neighbours(g, x, k)
    batch, points = g.size(x, 0), g.size(x, 2)
    first = g.op("Range", g.const(0, np.int64), g.squeeze(batch, 0), g.const(1, np.int64))
    base = g.mul(g.unsqueeze(first, 1, 2), points)
    flat = g.reshape(g.add(index, base), -1)
    rows = g.reshape(g.transpose(x, 0, 2, 1), -1, width)
    near = g.reshape(g.op("Gather", rows, flat, axis=0), batch, points, k, width)
    own = g.reshape(rows, batch, points, 1, width)
    own = g.op("Expand", own, g.op("Shape", near))
    both = g.concat(g.op("Sub", near, own), own, axis=3)
    return g.transpose(both, 0, 3, 1, 2)


@network_of_both(*ANY_POINTS)
def dgcnn(g: Graph) -> None:
    x = g.input("points", "batch", 3, "points")
    read, found = 3, []
    for width in (16, 32):
        y = g.conv(edge_features(g, x, read, 8), 2 * read, width, act=g.leaky)
        x, read = g.reduce("ReduceMax", y, -1, keep=False), width
        found.append(x)
    y = g.leaky(g.conv(g.concat(*found, axis=1), 48, 64, rank=1))
    most = g.reduce("ReduceMax", y, 2, keep=False)
    mean = g.reduce("ReduceMean", y, 2, keep=False)
    g.output(g.gemm(g.concat(most, mean, axis=1), 128, 40), 2)


def transform_net(g: Graph, x: str, width: int) -> str:
    """PointNet's matrix (n, width, width) that turns its points, near the identity."""
    y = g.conv(g.conv(x, width, 32, rank=1, act=g.relu), 32, 64, rank=1, act=g.relu)
    y = g.relu(g.gemm(g.reduce("ReduceMax", y, 2, keep=False), 64, 32))
    y = g.add(g.gemm(y, 32, width * width), g.held(np.eye(width, dtype=np.float32).reshape(1, -1)))
    return g.reshape(y, -1, width, width)


@network("old", *ANY_POINTS)
def pointnet(g: Graph) -> None:
    x = g.input("points", "batch", 3, "points")
    turned = g.op("MatMul", g.transpose(x, 0, 2, 1), transform_net(g, x, 3))
    y = g.conv(g.transpose(turned, 0, 2, 1), 3, 16, rank=1, act=g.relu)
    turned = g.op("MatMul", g.transpose(y, 0, 2, 1), transform_net(g, y, 16))
    y = g.transpose(turned, 0, 2, 1)
    whole = g.conv(g.conv(y, 16, 64, rank=1, act=g.relu), 64, 128, rank=1)
    most = g.reduce("ReduceMax", whole, 2)
    shape = g.concat(g.ints(1), g.ints(1), g.size(x, 2), axis=0)
    y = g.concat(y, g.op("Expand", most, shape), axis=1)
    y = g.conv(g.conv(y, 144, 64, rank=1, act=g.relu), 64, 13, rank=1)
    g.output(g.op("LogSoftmax", g.transpose(y, 0, 2, 1), axis=-1), 3)


def dense_gat(g: Graph, x: str, read: int, width: int, heads: int, edges: str) -> str:
    """Attention over all pairs of nodes, where there is no edge -1e9."""
    h = g.transpose(g.reshape(g.linear(x, read, heads * width, False), -1, heads, width), 1, 0, 2)
    a, b = (g.op("MatMul", h, g.weight(heads, width, 1, fan=width)) for _ in range(2))
    score = g.op("LeakyRelu", g.add(a, g.transpose(b, 0, 2, 1)), alpha=0.2)
    score = g.op("Where", edges, score, g.const(-1e9))
    y = g.op("MatMul", g.op("Softmax", score, axis=-1), h)
    return g.reshape(g.transpose(y, 1, 0, 2), -1, heads * width)


@network("old", {"nodes": 20}, {"nodes": 35})
def gat(g: Graph) -> None:
    x = g.input("x", "nodes", 24)
    score = g.input("adjacency", "nodes", "nodes")
    edges = g.op("Greater", score, g.const(0))
    y = g.op("Elu", dense_gat(g, x, 24, 8, 4, edges))
    y = dense_gat(g, y, 32, 7, 1, edges)
    g.output(g.op("LogSoftmax", y, axis=-1), 2)


def scattered(g: Graph, values: str, target: str, like: str, width: int, kind: str) -> str:
    """Values (edges, width) put together by their target nodes."""
    shape = g.concat(g.size(like, 0), g.ints(width), axis=0)
    zero = g.op("ConstantOfShape", shape)
    index = g.op("Expand", g.unsqueeze(target, 1), g.op("Shape", values))
    return str(g.op("ScatterElements", zero, index, values, axis=0, reduction=kind))


@network("new", *ANY_GRAPH)
def gat_sparse(g: Graph) -> None:
    """The softmax of each node's edges by a scattered maximum and sum, as PyG writes it."""
    x = g.input("x", "nodes", 24)
    edges = g.input("edges", 2, "edges", high=20)
    source, target = (g.op("Gather", edges, g.const(k, np.int64), axis=0) for k in (0, 1))
    h = g.linear(x, 24, 16, False)
    from_source, to_target = (g.op("MatMul", h, g.weight(16, 1)) for _ in range(2))
    score = g.add(
        g.op("Gather", from_source, source, axis=0), g.op("Gather", to_target, target, axis=0)
    )
    score = g.op("LeakyRelu", score, alpha=0.2)
    most = scattered(g, score, target, x, 1, "max")
    score = g.op("Exp", g.op("Sub", score, g.op("Gather", most, target, axis=0)))
    total = scattered(g, score, target, x, 1, "add")
    weight = g.op("Div", score, g.add(g.op("Gather", total, target, axis=0), g.const(1e-16)))
    y = scattered(g, g.mul(g.op("Gather", h, source, axis=0), weight), target, x, 16, "add")
    g.output(g.linear(g.relu(y), 16, 7), 2)


@network("old", *ANY_GRAPH)
def graph_sage(g: Graph) -> None:
    """Means of neighbours by scattered sums and counts."""
    x = g.input("x", "nodes", 24)
    edges = g.input("edges", 2, "edges", high=20)
    source, target = (g.op("Gather", edges, g.const(k, np.int64), axis=0) for k in (0, 1))
    read = 24
    for width in (32, 16):
        near = g.op("Gather", x, source, axis=0)
        total = scattered(g, near, target, x, read, "add")
        one = g.op("ConstantOfShape", g.concat(g.size(source, 0), g.ints(1), axis=0))
        count = scattered(g, g.add(one, g.const(1)), target, x, 1, "add")
        mean = g.op("Div", total, g.op("Max", count, g.const(1)))
        x = g.relu(g.add(g.linear(mean, read, width), g.linear(x, read, width, False)))
        read = width
    g.output(x, 2)
