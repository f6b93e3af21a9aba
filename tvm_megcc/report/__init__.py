"""Profiles of packages, and reports for people and programs."""
