"""What a module says of its values in f16: names that no pass gives to something else."""

from __future__ import annotations

import json

import tvm
from tvm import relax

from tvm_megcc.relax_tools.half import BF16, F16, Said, marked


def module() -> tvm.IRModule:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType([2], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            wide = builder.emit(relax.op.exp(x))
            half = builder.emit(relax.op.add(wide, wide))
            number = builder.emit(relax.op.astype(half, "int32"))
            result = builder.emit_output(relax.op.astype(number, "float32"))
        builder.emit_func_output(result)
    return builder.get()


def names(mod: tvm.IRModule) -> list[str]:
    return [binding.var.name for binding in mod["main"].body.blocks[0].bindings]


def test_names_that_tvm_chose_are_changed() -> None:
    """``lv7`` is no longer there: a pass may call anything so."""
    assert names(module()) == ["lv", "lv1", "lv2", "gv"]
    mod = marked(module(), Said(frozenset({"lv", "lv7", "x"}), frozenset({"lv1", "lv2", "y"})))
    assert names(mod) == ["said_lv", "said_lv1", "lv2", "gv"]
    assert json.loads(str(mod.attrs[F16])) == [["said_lv", "x"], ["said_lv1", "y"]]


def test_a_module_of_both_types_is_marked_twice() -> None:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType([2], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            half = builder.emit(relax.op.exp(x))
            wide = builder.emit(relax.op.add(half, half))
            result = builder.emit_output(wide)
        builder.emit_func_output(result)
    once = marked(builder.get(), Said(frozenset({"lv1"}), frozenset({"lv"})))
    assert json.loads(str(once.attrs[F16])) == [["gv", "said_lv1"], ["said_lv"]]
    mod = marked(once, Said(frozenset({"lv1", "lv7"}), frozenset({"lv"})), BF16)
    assert names(mod) == names(once) == ["said_lv", "said_lv1", "gv"]
    assert json.loads(str(mod.attrs[BF16])) == [["gv", "said_lv1"], ["said_lv"]]


def test_what_nothing_is_said_of_stays() -> None:
    mod = marked(module(), Said(frozenset({"x"}), frozenset({"gv"})))
    assert names(mod) == names(module())
    assert json.loads(str(mod.attrs[F16])) == [["x"], ["gv"]]
