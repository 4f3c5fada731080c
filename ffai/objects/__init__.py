"""AI methods, semantic search and memory on records of your own database."""
