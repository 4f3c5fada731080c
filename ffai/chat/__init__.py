"""Talking to a chat model: the client protocol, prompts and replies. No provider is named here."""
