"""`quotient` divides polynomials without rest, or says that it cannot."""

from __future__ import annotations

import random

from tvm_megcc.dims import Size, quotient, symbol


def _drawn(rng: random.Random) -> Size:
    """A polynomial of two symbols and a floor division, never 0."""
    h, w = symbol("h", 1), symbol("w", 1)
    atoms: list[Size] = [1, h, w, (h + 1) // 2, h * w]
    total: Size = 0
    for atom in rng.sample(atoms, rng.randint(1, 3)):
        total = total + rng.choice([-3, -1, 1, 2, 4]) * atom
    return total


def test_a_product_divides_by_its_factors() -> None:
    rng = random.Random(1)
    for _ in range(300):
        a, b = _drawn(rng), _drawn(rng)
        assert quotient(a * b, b) == a, (str(a), str(b))


def test_a_quotient_times_its_divisor_is_what_was_divided() -> None:
    rng = random.Random(2)
    found = 0
    for _ in range(300):
        a, b = _drawn(rng), _drawn(rng)
        made = quotient(a, b)
        found += made is not None
        assert made is None or made * b == a, (str(a), str(b))
    assert 0 < found < 300


def test_rests_and_zero() -> None:
    h = symbol("h", 1)
    assert quotient(12, 4) == 3 and quotient(12, 5) is None and quotient(12, 0) is None
    assert quotient(6 * h, 4) is None and quotient(h + 1, h) is None and quotient(0, h) == 0
