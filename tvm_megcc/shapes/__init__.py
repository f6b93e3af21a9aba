"""Sizes in models: arithmetic on them, broadcasting, dims that must be equal, sizes in data.

`tvm_megcc.dims` has the sizes themselves; this room connects them with Relax expressions.
Operators, the frontend and dispatch use it. It knows neither ONNX nor any operator.
"""
