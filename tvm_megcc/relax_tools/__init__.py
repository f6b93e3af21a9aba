"""Tools for Relax that frontend, passes, fusion and lowering share."""
