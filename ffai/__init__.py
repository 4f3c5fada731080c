"""ffai: memory for LLM applications. Wraps any chat client and recalls past conversations by meaning."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports
from ffai.errors import FFAIError
from ffai.FFAI import FFAI

if TYPE_CHECKING:
    from ffai.core.embeddings import Embeddings
    from ffai.core.memory.hit import TurnHit
    from ffai.core.memory.memory import Memory
    from ffai.core.recall_check import arecall_check, recall_check
    from ffai.core.recall_report import RecallReport
    from ffai.core.scope import MemoryScope
    from ffai.workflow.options import ResponseOptions

__version__ = "0.2.0"
__all__ = [
    "FFAI",
    "Embeddings",
    "FFAIError",
    "Memory",
    "MemoryScope",
    "RecallReport",
    "ResponseOptions",
    "TurnHit",
    "arecall_check",
    "recall_check",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "Embeddings": "ffai.core.embeddings",
        "Memory": "ffai.core.memory.memory",
        "MemoryScope": "ffai.core.scope",
        "RecallReport": "ffai.core.recall_report",
        "ResponseOptions": "ffai.workflow.options",
        "TurnHit": "ffai.core.memory.hit",
        "arecall_check": "ffai.core.recall_check",
        "recall_check": "ffai.core.recall_check",
    },
)
