"""Symbolic sizes: integers that are known when the shapes of the inputs are.

A `Dim` is a polynomial over *atoms*: symbols (dims of the inputs, with bounds) and operations that
are no polynomials (floor division, minimum, ...). It is kept in one normal form, so that equal
sizes compare equal, and it computes like an ``int``: code written for static shapes serves symbolic
ones too. A result without symbols is a plain ``int``. A comparison that the bounds do not decide
raises `Undecided`.

Example
-------
>>> n = symbol("n", 1, 64)
>>> (n * 8 + 4) // 4 == n * 2 + 1, n >= 1, (n + 3).at({"n": 2})
(True, True, 5)
>>> str(n * n // 3)
'n*n//3'
"""

from __future__ import annotations

from .example_values import TYPICAL as TYPICAL
from .example_values import samples as samples
from .example_values import typical as typical
from .functions import ceildiv as ceildiv
from .functions import effort as effort
from .functions import fixed as fixed
from .functions import fixed_dims as fixed_dims
from .functions import is_static as is_static
from .functions import magnitude as magnitude
from .functions import maximum as maximum
from .functions import may_be_one as may_be_one
from .functions import minimum as minimum
from .functions import product as product
from .functions import select as select
from .functions import stretch as stretch
from .functions import stretched_from as stretched_from
from .given import GivenDim as GivenDim
from .given import Multiple as Multiple
from .given import factor_of as factor_of
from .given import read as read
from .json_form import Shared as Shared
from .json_form import json_at as json_at
from .json_form import json_symbols as json_symbols
from .json_form import json_text as json_text
from .json_form import to_json as to_json
from .json_form import whole as whole
from .size import INFINITY as INFINITY
from .size import Atom as Atom
from .size import Dim as Dim
from .size import Operation as Operation
from .size import Size as Size
from .size import Symbol as Symbol
from .size import Undecided as Undecided
from .size import as_multiple as as_multiple
from .size import as_symbol as as_symbol
from .size import at as at
from .size import bounds as bounds
from .size import compare as compare
from .size import floordiv as floordiv
from .size import floormod as floormod
from .size import numbers as numbers
from .size import of as of
from .size import quotient as quotient
from .size import symbol as symbol
from .size import symbols as symbols
from .size import written as written
