"""The C VM: sources that every package carries."""
