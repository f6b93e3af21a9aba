"""Operators of ONNX Runtime, domain com.microsoft."""
