"""Which exchanges of real conversations a question brings up: ``python -m benchmarks.recall DATA``."""
