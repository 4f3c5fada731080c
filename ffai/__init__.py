"""ffai: memory for LLM applications."""
