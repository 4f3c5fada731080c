"""Finding records by meaning."""
