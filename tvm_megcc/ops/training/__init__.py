"""Optimisers, domain ai.onnx.preview.training."""
