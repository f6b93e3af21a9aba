"""What the frontend, the passes, fusion and lowering share about Relax."""
