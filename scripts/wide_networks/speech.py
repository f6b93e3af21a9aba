"""Networks of sound: recognition, synthesis, noise, voice activity."""

from __future__ import annotations

import numpy as np

from .graph import Graph, network, network_of_both

ANY_TIME = {"time": 40}, {"time": 65}
ANY_BATCH_TIME = {"batch": 1, "time": 40}, {"batch": 2, "time": 64}
ANY_SAMPLES = {"batch": 1, "samples": 3200}, {"batch": 2, "samples": 4160}
ANY_FRAMES = {"batch": 1, "frames": 60}, {"batch": 2, "frames": 100}


def conformer_block(g: Graph, x: str, width: int) -> str:
    """Half a feed-forward layer, attention, a convolution with GLU, the other half."""

    def half(y: str) -> str:
        return g.scaled(g.feed(g.norm(y, width), width, 4 * width, g.silu), 0.5)

    x = g.add(x, half(x))
    x = g.add(x, g.attention(g.norm(x, width), width, 4))
    y = g.transpose(g.norm(x, width), 0, 2, 1)
    y = g.glu(g.conv(y, width, 2 * width, 1, rank=1), width, 1)
    y = g.silu(g.conv(y, width, width, 15, groups=width, rank=1))
    x = g.add(x, g.transpose(g.conv(y, width, width, 1, rank=1), 0, 2, 1))
    return g.norm(g.add(x, half(x)), width)


@network_of_both(*ANY_BATCH_TIME)
def conformer(g: Graph) -> None:
    """Features are subsampled by four in two convolutions of images."""
    x = g.input("features", "batch", "time", 40)
    y = g.unsqueeze(x, 1)
    y = g.conv(y, 1, 16, 3, 2, act=g.relu)
    y = g.conv(y, 16, 16, 3, 2, act=g.relu)
    y = g.transpose(y, 0, 2, 1, 3)
    y = g.linear(g.reshape(y, g.size(y, 0), g.size(y, 1), 160), 160, 64)
    for _ in range(2):
        y = conformer_block(g, y, 64)
    g.output(g.op("LogSoftmax", g.linear(y, 64, 50), axis=-1), 3)


@network("old", *ANY_SAMPLES)
def wav2vec2(g: Graph) -> None:
    """Convolutions of samples, one with a group norm, and one of positions with groups."""
    x = g.input("samples", "batch", "samples")
    y = g.conv(g.unsqueeze(x, 1), 1, 32, 10, 5, rank=1, pads=[0, 0], bias=False)
    y = g.gelu(g.group_norm(y, 32, 32, rank=1))
    for k in (3, 3, 2, 2):
        y = g.gelu(g.conv(y, 32, 32, k, 2, rank=1, pads=[0, 0], bias=False))
    y = g.linear(g.norm(g.transpose(y, 0, 2, 1), 32), 32, 64)
    z = g.conv(g.transpose(y, 0, 2, 1), 64, 64, 16, groups=4, rank=1, pads=[8, 8])
    z = g.gelu(g.cut(z, 0, -1, 2))
    y = g.norm(g.add(y, g.transpose(z, 0, 2, 1)), 64)
    for _ in range(2):
        y = g.norm(g.add(y, g.attention(y, 64, 4)), 64)
        y = g.norm(g.add(y, g.feed(y, 64, 256)), 64)
    g.output(g.linear(y, 64, 32), 3, "logits")


@network_of_both(*ANY_FRAMES)
def whisper_encoder(g: Graph) -> None:
    x = g.input("mel", "batch", 40, "frames")
    y = g.gelu(g.conv(x, 40, 64, 3, rank=1))
    y = g.transpose(g.gelu(g.conv(y, 64, 64, 3, 2, rank=1)), 0, 2, 1)
    y = g.add(y, g.cut(g.bias(64, 64, scale=1), 0, g.size(y, 1), 0))
    for _ in range(2):
        y = g.block(y, 64, 2)
    g.output(g.norm(y, 64), 3)


@network(
    "old", {"batch": 1, "sequence": 5, "frames": 30}, {"batch": 2, "sequence": 12, "frames": 50}
)
def whisper_decoder(g: Graph) -> None:
    """Causal attention to the tokens, then attention to what the encoder found."""
    width = 64
    ids = g.input("tokens", "batch", "sequence", high=200)
    memory = g.input("audio", "batch", "frames", width)
    table = g.weight(200, width, fan=1)
    y = g.op("Gather", table, ids, axis=0)
    y = g.add(y, g.cut(g.bias(32, width, scale=1), 0, g.size(ids, 1), 0))
    mask = g.causal(ids)
    for _ in range(2):
        y = g.add(y, g.attention(g.norm(y, width), width, 2, mask=mask))
        y = g.add(y, g.attention(g.norm(y, width), width, 2, memory))
        y = g.add(y, g.feed(g.norm(y, width), width, 4 * width))
    logits = g.op("MatMul", g.norm(y, width), g.transpose(table, 1, 0))
    g.output(g.scaled(logits, 0.125), 3, "logits")


def wave_layers(g: Graph, x: str, width: int, mask: str | None = None) -> str:
    """WaveNet's gated convolutions with dilations, as VITS's flow has them."""
    found = None
    for n in range(3):
        dilation = 2**n
        y = g.conv(x, width, 2 * width, 5, dilation=dilation, rank=1)
        a, b = g.split(y, (width, width), 1)
        y = g.mul(g.op("Tanh", a), g.op("Sigmoid", b))
        more = 2 * width if n < 2 else width
        y = g.conv(y, width, more, 1, rank=1)
        if n < 2:
            kept, skip = g.split(y, (width, width), 1)
            x = g.add(x, kept)
            x = g.mul(x, mask) if mask else x
        else:
            skip = y
        found = g.add(found, skip) if found else skip
    assert found
    return g.mul(found, mask) if mask else found


@network("old", *ANY_BATCH_TIME)
def vits_flow(g: Graph) -> None:
    """Residual couplings in reverse, with channels flipped between them."""
    x = g.input("z", "batch", 32, "time")
    lengths = g.input("lengths", "batch", high=40)
    at = g.op("Range", g.const(0, np.int64), g.squeeze(g.size(x, 2), 0), g.const(1, np.int64))
    mask = g.op("Less", g.unsqueeze(at, 0), g.unsqueeze(lengths, 1))
    mask = g.unsqueeze(g.op("Cast", mask, to=1), 1)
    x = g.mul(x, mask)
    for _ in range(2):
        x = g.cut(x, -1, -(2**63), 1, -1)  # torch.flip
        kept, moved = g.split(x, (16, 16), 1)
        h = g.mul(g.conv(kept, 16, 32, 1, rank=1), mask)
        mean = g.mul(g.conv(wave_layers(g, h, 32, mask), 32, 16, 1, rank=1), mask)
        x = g.concat(kept, g.mul(g.op("Sub", moved, mean), mask), axis=1)
    g.output(x, 3)


def vocoder(g: Graph, x: str, read: int, width: int, rates: tuple[int, ...]) -> str:
    """HiFi-GAN: transposed convolutions, each with residual blocks of three dilations."""
    y = g.conv(x, read, width, 7, rank=1)
    for rate in rates:
        y = g.leaky(y)
        y = g.conv_transpose(y, width, width // 2, 2 * rate, rate, rate // 2, rank=1)
        width //= 2
        found = None
        for k in (3, 7):
            z = y
            for dilation in (1, 3):
                r = g.conv(g.leaky(z), width, width, k, dilation=dilation, rank=1)
                z = g.add(z, g.conv(g.leaky(r), width, width, k, rank=1))
            found = g.add(found, z) if found else z
        y = g.scaled(found, 0.5)
    y = g.conv(g.op("LeakyRelu", y), width, 1, 7, rank=1)
    return str(g.op("Tanh", g.scaled(y, 0.3)))


@network("old", *ANY_TIME)
def hifigan(g: Graph) -> None:
    x = g.input("mel", 1, 40, "time")
    g.output(vocoder(g, x, 40, 64, (8, 4, 2)), 3, "audio")


@network("new", *ANY_TIME)
def vits_decoder(g: Graph) -> None:
    """The decoder with a speaker's vector added to what it reads."""
    x = g.input("z", 1, 32, "time")
    speaker = g.input("speaker", 1, 16)
    x = g.add(x, g.conv(g.unsqueeze(speaker, 2), 16, 32, 1, rank=1))
    g.output(vocoder(g, x, 32, 32, (4, 4)), 3, "audio")


def recurrent(
    g: Graph,
    kind: str,
    x: str,
    read: int,
    width: int,
    state: tuple[str, ...] = (),
    both: bool = False,
) -> list[str]:
    """An LSTM or GRU of (t, n, read): the sequence (t, n, width), and the last states."""
    ways = 2 if both else 1
    gates = {"LSTM": 4, "GRU": 3}[kind] * width
    words = [
        x, g.weight(ways, gates, read, fan=read), g.weight(ways, gates, width, fan=width),
        g.bias(ways, 2 * gates), "", *state,
    ]  # fmt: skip
    attrs = {"linear_before_reset": 1} if kind == "GRU" else {}
    attrs |= {"direction": "bidirectional"} if both else {}
    y, *last = g.op(kind, *words, hidden_size=width, count={"LSTM": 3, "GRU": 2}[kind], **attrs)
    if both:
        z = g.transpose(y, 0, 2, 1, 3)
        return [g.reshape(z, 0, 0, ways * width), *last]
    return [g.squeeze(y, 1), *last]


@network("old", *ANY_BATCH_TIME)
def lstm_speech(g: Graph) -> None:
    """DeepSpeech 2: convolutions of a spectrogram, two LSTMs in both directions."""
    x = g.input("spectrogram", "batch", 1, 40, "time")
    y = g.conv(x, 1, 8, (11, 5), 2, act=g.relu6)
    y = g.conv(y, 8, 8, (5, 3), 1, act=g.relu6)
    y = g.reshape(y, g.size(y, 0), 160, -1)
    y = g.transpose(y, 2, 0, 1)
    y = recurrent(g, "LSTM", y, 160, 48, both=True)[0]
    y = recurrent(g, "LSTM", y, 96, 48, both=True)[0]
    y = g.transpose(g.linear(y, 96, 29), 1, 0, 2)
    g.output(g.op("LogSoftmax", y, axis=-1), 3)


@network("new", *ANY_BATCH_TIME)
def gru_speech(g: Graph) -> None:
    """A transducer's predictor and joiner: a GRU of tokens beside encoded frames."""
    ids = g.input("tokens", "batch", 9, high=60)
    frames = g.input("frames", "batch", "time", 48)
    y = g.transpose(g.embed(ids, 60, 32), 1, 0, 2)
    y = g.transpose(recurrent(g, "GRU", y, 32, 48)[0], 1, 0, 2)
    joined = g.add(g.unsqueeze(frames, 2), g.unsqueeze(g.linear(y, 48, 48), 1))
    g.output(g.linear(g.op("Tanh", joined), 48, 60), 4)


@network("old")
def rnnoise(g: Graph) -> None:
    """A frame of 42 features, three GRUs with states that go in and out: gains and voice."""
    x = g.input("features", 1, 1, 42)
    states = [g.input(f"state_{k}", 1, 1, n, scale=0.3) for k, n in enumerate((24, 48, 96))]
    dense = g.op("Tanh", g.linear(g.transpose(x, 1, 0, 2), 42, 24))
    voice, last = recurrent(g, "GRU", dense, 24, 24, (states[0],))
    noise, more = recurrent(g, "GRU", g.concat(dense, voice, g.transpose(x, 1, 0, 2), axis=2),
                            90, 48, (states[1],))  # fmt: skip
    found = g.concat(voice, noise, g.transpose(x, 1, 0, 2), axis=2)
    gains, most = recurrent(g, "GRU", found, 114, 96, (states[2],))
    g.output(g.op("Sigmoid", g.linear(gains, 96, 22)), 3, "gains")
    g.output(g.op("Sigmoid", g.linear(voice, 24, 1)), 3, "voice")
    for k, value in enumerate((last, more, most)):
        g.output(value, 3, f"next_{k}")


@network("old", *({"batch": n} for n in (1, 2)))
def silero(g: Graph) -> None:
    """Samples, a transform as a convolution, magnitudes, convolutions, an LSTM with state."""
    x = g.input("samples", "batch", 512)
    h, c = (g.input(name, 1, "batch", 64, scale=0.3) for name in ("h", "c"))
    y = g.op("Pad", x, g.ints(0, 64, 0, 64), mode="reflect")
    y = g.conv(g.unsqueeze(y, 1), 1, 130, 128, 64, rank=1, pads=[0, 0], bias=False)
    real, imaginary = (g.cut(y, a, b, 1) for a, b in ((0, 65), (65, 130)))
    square = g.add(*(g.op("Pow", part, g.const(2)) for part in (real, imaginary)))
    y = g.op("Log", g.add(g.scaled(g.op("Sqrt", square), 1000.0), g.const(1)))
    for read, made, stride in ((65, 64, 1), (64, 32, 2), (32, 64, 2)):
        y = g.conv(y, read, made, 3, stride, rank=1, act=g.relu)
    y, last_h, last_c = recurrent(g, "LSTM", g.transpose(y, 2, 0, 1), 64, 64, (h, c))
    y = g.relu(g.transpose(y, 1, 2, 0))
    y = g.op("Sigmoid", g.conv(y, 64, 1, 1, rank=1))
    g.output(g.reduce("ReduceMean", y, 2, keep=False), 2)
    g.output(last_h, 3, "next_h")
    g.output(last_c, 3, "next_c")


@network("new", *ANY_BATCH_TIME)
def tcn(g: Graph) -> None:
    """Causal convolutions with dilations: padded on both sides and cut, as chomp does."""
    x = g.input("x", "batch", 16, "time")
    read = 16
    y = x
    for n in range(4):
        z = y
        for k in range(2):
            pad = 2 * 2**n
            z = g.conv(z, read if k == 0 else 32, 32, 3, dilation=2**n, rank=1, pads=[pad, pad])
            z = g.relu(g.cut(z, 0, -pad, 2))
        y = g.relu(g.add(z, g.conv(y, read, 32, 1, rank=1) if read != 32 else y))
        read = 32
    g.output(g.gemm(g.op("Gather", y, g.const(-1, np.int64), axis=2), 32, 10), 2)


@network("old", *ANY_SAMPLES)
def conv_tasnet(g: Graph) -> None:
    """Learned frames, blocks with global norms, masks of two sources, learned synthesis."""
    x = g.input("samples", "batch", "samples")
    frames = g.conv(g.unsqueeze(x, 1), 1, 32, 16, 8, rank=1, pads=[0, 0], bias=False, act=g.relu)
    y = g.conv(g.group_norm(frames, 32, 1, rank=1), 32, 24, 1, rank=1)
    for dilation in (1, 2, 4):
        z = g.op("PRelu", g.conv(y, 24, 48, 1, rank=1), g.const([[0.25]]))
        z = g.group_norm(z, 48, 1, rank=1)
        z = g.conv(z, 48, 48, 3, groups=48, dilation=dilation, rank=1)
        z = g.group_norm(g.op("PRelu", z, g.const([[0.25]])), 48, 1, rank=1)
        y = g.add(y, g.conv(z, 48, 24, 1, rank=1))
    masks = g.op("Sigmoid", g.conv(y, 24, 64, 1, rank=1))
    masks = g.reshape(masks, g.size(masks, 0), 2, 32, -1)
    parts = g.mul(masks, g.unsqueeze(frames, 1))
    parts = g.reshape(parts, -1, 32, g.size(parts, 3))
    sound = g.conv_transpose(parts, 32, 1, 16, 8, 0, rank=1)
    g.output(g.reshape(sound, g.size(x, 0), 2, -1), 3)
