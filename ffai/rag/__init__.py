"""Answers grounded in memory."""
