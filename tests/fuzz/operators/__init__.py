"""Random nodes: a function for each operator or family, that adds one to a `Sketch`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from tests.fuzz.sketch import Sketch

Generator = Callable[[Sketch], None]


@cache
def table() -> tuple[Generator, ...]:
    """Every function of this package's modules whose name does not begin with an underscore."""
    found: list[Generator] = []
    modules = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    for name in sorted(modules):
        module = importlib.import_module(f"{__name__}.{name}")
        for key, value in sorted(vars(module).items()):
            if callable(value) and value.__module__ == module.__name__ and key[0] != "_":
                found += [value] * getattr(value, "times", 1)
    return tuple(found)
