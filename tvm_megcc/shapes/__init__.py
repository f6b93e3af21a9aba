"""Sizes in models: arithmetic on them, broadcasting, dims that must be equal, sizes in data.

`tvm_megcc.dims` has the sizes themselves; here they meet Relax expressions. Operators, the frontend
and dispatch use this room; it knows neither ONNX nor any operator.
"""
