"""Asking a model about records."""
