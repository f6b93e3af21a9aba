"""The calls of a program and the tensors between them, for tools that read a package.

Enters: a planned program. Leaves: the entry ``graph`` of ``manifest.json``
(docs/package-format.md). Sizes that follow from the shapes are `dims.Dim`s, which
`manifest_text` writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm_megcc.codegen_c.emit.dataflow import sources
from tvm_megcc.core.program import Call, Kernel, Program, Tensor, kept_rows
from tvm_megcc.dims import Size


def graph(program: Program, links: Mapping[Kernel, str]) -> dict[str, object]:
    """The calls, numbered as profiles number them, their tensors, and the kernels' link names."""
    steps = [(n, step) for n, step in enumerate(program.calls) if isinstance(step, Call)]
    used = sorted({t for _, step in steps for t in step.operands})
    after = sources(program)
    # Calls of one node, or of what a pass has made of many, share the list of nodes.
    groups = {nodes: k for k, nodes in enumerate(dict.fromkeys(c.nodes for _, c in steps))}
    number = {tensor: k for k, tensor in enumerate(used)}
    kept = kept_rows(program)
    return {
        "tensors": [_tensor(program.tensors[t], kept.get(t)) for t in used],
        "nodes": [list(nodes) for nodes in groups],
        "calls": [
            {
                "kernel": links[program.kernels[step.kernel]],
                "step": n,
                "nodes": groups[step.nodes],
                "after": after[n],
                **_call(program, step, number),
            }
            for n, step in steps
        ],
    }


def _tensor(tensor: Tensor, kept: tuple[Size, Size] | None) -> dict[str, object]:
    """A tensor; of a line buffer also the rows that memory holds, and those of the image."""
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "bytes": tensor.nbytes,
        "place": tensor.location.space,
        **({} if kept is None else {"rows": kept[0], "height": kept[1]}),
    }


def _call(program: Program, call: Call, number: Mapping[int, int]) -> dict[str, object]:
    scratch = 0 if call.workspace is None else program.tensors[call.workspace].nbytes
    return {
        "name": call.name,
        "reads": [number[t] for t in call.reads],
        "writes": [number[t] for t in call.writes],
        "workspace": scratch,
        "multiply_adds": call.multiply_adds,
        **({} if call.rows is None else {"whole": list(call.rows.shape)}),
    }
