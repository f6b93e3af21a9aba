"""Signal processing through compiled packages, with operands at run time."""

import numpy as np
import pytest

from tests.ops.cases import Weight, rand
from tests.ops.together import Case, Open, check_together
from tvm_megcc.errors import MegccError
from tvm_megcc.frontend import from_onnx

pytestmark = pytest.mark.slow


def whole(value):
    return np.array(value, np.int64)


def dft(shape, length=None, axis=None, known=True, **attrs):
    """A DFT of opset 20; `known` says whether length and axis are constants of the model."""
    give = (lambda v: None if v is None else Weight(whole(v))) if known else (
        lambda v: None if v is None else whole(v))  # fmt: skip
    operands = [rand(*shape), give(length), give(axis)]
    while operands[-1] is None:
        operands.pop()
    return Case("DFT", operands, attrs, opset=20, by="reference")


def test_dft_of_any_length(tmp_path):
    cases = [dft((2, n, c)) for n in (1, 5, 97, 120, 256) for c in (1, 2)]
    cases += [dft((2, n, 2), inverse=1) for n in (3, 90)]
    cases += [dft((2, n, 1), onesided=1) for n in (1, 7, 8, 400)]
    cases += [dft((2, n, 2), onesided=1, inverse=1) for n in (2, 5, 65)]
    cases += [dft((2, 9, 2), length, onesided=1, inverse=1) for length in (4, 15, 20)]
    cases += [dft((1, n, 1), close) for n, close in ((1021, None), (3, 1031))]
    cases += [dft((2, 8, 3, 1), length, axis) for length in (5, 11) for axis in (0, -2)]
    cases += [Case("DFT", [rand(2, 6, 3, 1)], dict(axis=k), 17, by="reference") for k in (1, 2)]
    cases += [Case("DFT", [rand(1, 12, 2, dtype="float64")], {}, 17, by="reference", close=1e-12)]
    check_together(cases, tmp_path)


def test_dft_by_operands_that_are_computed(tmp_path):
    cases = [dft((2, 8, 3, 2), None, axis, known=False) for axis in (1, -2)]
    cases += [dft((2, 8, 3, 2), 6, axis, known=False, inverse=1) for axis in (0, -3)]
    cases += [dft((1, 8, 4, 1), length, 1, known=False, onesided=1) for length in (None, 9)]
    cases += [dft((1, 8, 4, 2), n, 1, known=False, onesided=1, inverse=1) for n in (None, 7)]
    check_together(cases, tmp_path)


def test_dft_of_open_dims(tmp_path):
    operand = Open(rand(2, 10, 3, 1), ["a", "b", "c", 1])
    cases = [Case("DFT", [operand], dict(onesided=k), 17, by="reference") for k in (0, 1)]
    operand = Open(rand(2, 6, 3, 2), ["a2", "b2", "c", 2])
    cases += [
        Case("DFT", [operand], dict(onesided=k, inverse=1), 17, by="reference") for k in (0, 1)
    ]
    check_together(cases, tmp_path)


def stft(samples, step, window=None, length=None, parts=1, known=True, **attrs):
    """`window` is a length: the window's values are random."""
    give = Weight if known else (lambda v: v)
    window = None if window is None else give(rand(window, seed=1))
    length = None if length is None else give(whole(length))
    operands = [rand(2, samples, parts), give(whole(step)), window, length]
    while operands[-1] is None:
        operands.pop()
    return Case("STFT", operands, attrs, by="reference")


@pytest.mark.parametrize("known", [True, False])
def test_stft(tmp_path, known):
    cases = [stft(64, 8, None, 16, known=known), stft(40, 7, 10, None, 2, known=known, onesided=0)]
    cases += [stft(12, 1, 12, 12, known=known)]
    operand = Open(rand(2, 50, 1), ["batch", "samples", 1])
    give = Weight if known else (lambda v: v)
    cases += [Case("STFT", [operand, give(whole(4)), give(rand(11))], by="reference")]
    for signal in (rand(2, 40), Open(rand(2, 30), ["rows", "length"])):  # without the last dim
        cases += [Case("STFT", [signal, give(whole(5)), give(rand(9)), give(whole(9))])]
    check_together(cases, tmp_path)


def test_melweightmatrix(tmp_path):
    def mel(give, bins, length, rate, low, high, integer="int32", real="float32", **attrs):
        operands = [give(np.array(v, integer)) for v in (bins, length, rate)]
        operands += [give(np.array(v, real)) for v in (low, high)]
        return Case("MelWeightMatrix", operands, attrs, by="reference")

    cases = []
    for give in (Weight, lambda v: v):
        cases += [mel(give, 8, 16, 8192, 0, 4096), mel(give, 20, 64, 16000, 20, 8000, "int64")]
        cases += [mel(give, 5, 512, 22050, 300.5, 3000, real="float64", output_datatype=11)]
    check_together(cases, tmp_path)


POOL = dict(pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7], ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6])  # fmt: skip
TEXT = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]])


def test_tfidfvectorizer(tmp_path):
    weights = [0.5, 2.0, 3.0, 4.0, -5.0, 6.0, 7.0]

    def count(data, mode="TF", low=1, high=2, skip=0, pool=POOL, **attrs):
        attrs = dict(min_gram_length=low, max_gram_length=high, max_skip_count=skip, mode=mode,
                     **attrs, **pool)  # fmt: skip
        return Case("TfIdfVectorizer", [data], attrs, 9)

    rows = TEXT.astype("int32")
    cases = [count(rows.reshape(-1), "IDF", 2, 2, 3), count(rows, "IDF", skip=5, weights=weights),
             count(TEXT, "TFIDF", 1, 1, weights=weights), count(TEXT, "TFIDF", 2, 2),
             count(Open(rows, ["rows", "columns"]), "TF", skip=5, weights=weights)]  # fmt: skip
    shared = dict(pool_int64s=[5, 6, 7, 8, 6, 7, 8], ngram_counts=[0, 1],
                  ngram_indexes=[0, 2, 2, 0])  # fmt: skip
    cases += [count(rows, pool=shared), count(rows[:, :1], skip=2)]
    # The i-th weight is that of the i-th n-gram, wherever its count stands.
    turned = {**POOL, "ngram_indexes": [3, 2, 6, 1, 0, 5, 4]}
    cases += [count(rows, mode, 1, 2, 5, turned, weights=weights) for mode in ("IDF", "TFIDF")]
    cases += [count(rows, "TFIDF", pool=shared, weights=[2.0, 3.0, 5.0, 7.0]),
              count(rows, "IDF", pool=shared, weights=[2.0, 3.0, 3.0, 2.0])]  # fmt: skip
    check_together(cases, tmp_path)


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        (dict(mode="IDF", weights=[2.0, 3.0, 5.0, 7.0]), "several weights"),
        (dict(mode="IDF", weights=[2.0, 3.0]), "2 weights for 4 n-grams"),
        (dict(ngram_indexes=[0, -1, 2, 1]), "no places"),
    ],
)
def test_tfidfvectorizer_refused(attrs, words):
    given = dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
                 pool_int64s=[5, 6, 7, 8, 6, 7, 8], ngram_counts=[0, 1],
                 ngram_indexes=[0, 2, 2, 0])  # fmt: skip
    model, _ = Case("TfIdfVectorizer", [TEXT], {**given, **attrs}, 9).model()
    with pytest.raises(MegccError, match=rf"^TfIdfVectorizer 'node': .*{words}.*; "):
        from_onnx(model)


def test_windows(tmp_path):
    cases = [Case(op, [np.array(size, dtype)], dict(periodic=periodic), by="reference")
             for op in ("HannWindow", "HammingWindow", "BlackmanWindow")
             for size, dtype, periodic in ((10, "int32", 1), (7, "int64", 0))]  # fmt: skip
    cases += [Case("HannWindow", [np.array(9)], dict(output_datatype=11), by="reference")]
    check_together(cases, tmp_path)
