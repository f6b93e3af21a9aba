"""Program -> files: see docs/architecture.md."""
