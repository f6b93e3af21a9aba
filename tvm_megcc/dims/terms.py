"""Polynomials as coefficients by the factors of their terms; a constant's term has no factors.

A factor is any object with a text; the factors of a term are sorted by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Factors = tuple[Any, ...]
Terms = dict[Factors, int]


def added(a: Terms, b: Terms) -> Terms:
    total = dict(a)
    for factors, coefficient in b.items():
        total[factors] = total.get(factors, 0) + coefficient
    return total


def multiplied(a: Terms, b: Terms) -> Terms:
    total: Terms = {}
    for one, x in a.items():
        for two, y in b.items():
            factors = tuple(sorted(one + two, key=str))
            total[factors] = total.get(factors, 0) + x * y
    return total


def divided(a: Terms, divisor: Terms) -> tuple[Terms, Terms]:
    """(q, r) with ``a == q * divisor + r``: q has every term of `a` that the one term divides."""
    ((factors, by),) = divisor.items()
    whole: Terms = {}
    rest: Terms = {}
    for term, coefficient in a.items():
        left = _without(term, factors)
        if left is None:
            rest[term] = coefficient
            continue
        # 7n // 2 stays whole: a part of a term would hide that 4n // 2 + 3n // 2 is the same.
        if coefficient % by == 0:
            whole[left] = coefficient // by
        elif not term and not factors:
            whole[left], rest[term] = coefficient // by, coefficient % by
        else:
            rest[term] = coefficient
    return whole, rest


def in_order(terms: Iterable[Factors]) -> list[Factors]:
    """Terms in the order of writing: powers first, the constant last."""
    return sorted(terms, key=lambda factors: (-len(factors), tuple(map(str, factors))))


def _without(term: Factors, factors: Factors) -> Factors | None:
    left = list(term)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)
