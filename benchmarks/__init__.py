"""Figures, each a ratio or a difference measured side by side in one run: ``python -m benchmarks``."""
