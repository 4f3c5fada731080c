"""Answers grounded in memory: lines, prompts and budgets for what is recalled. No client, no store."""
