"""Memory and history: no chat model, no network, no configuration."""
