"""Packages on disk, and the tools that compile and run them on this machine."""
