"""Settings: from keywords, environment variables and YAML files, as one frozen value."""

from ffai.config.explain import Setting, explain
from ffai.config.sections import (
    ClientSettings,
    ClientTypeSettings,
    HistorySettings,
    LoggingSettings,
    MemorySettings,
    ModelDefaultSettings,
    ObjectSettings,
    PathSettings,
    RetrySettings,
)
from ffai.config.settings import Config

__all__ = [
    "ClientSettings",
    "ClientTypeSettings",
    "Config",
    "HistorySettings",
    "LoggingSettings",
    "MemorySettings",
    "ModelDefaultSettings",
    "ObjectSettings",
    "PathSettings",
    "RetrySettings",
    "Setting",
    "explain",
]
