"""What is compared with our store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rival:
    """One other way to find the vectors closest to a vector."""

    name: str
    engine: str
    """A file in ``engines/``."""
    requirements: tuple[str, ...] = ()
    """What its environment holds, the rival itself first; with none it runs in ours."""

    @property
    def version(self) -> str:
        """The version that is pinned; empty for what runs in our environment."""
        return self.requirements[0].partition("==")[2] if self.requirements else ""


OURS = Rival("ffai", "ours")
NUMPY = Rival("NumPy product", "numpy_product")
RIVALS = (
    NUMPY,
    Rival("FAISS flat", "faiss_flat", ("faiss-cpu==1.15.1",)),
    Rival("Chroma", "chroma", ("chromadb==1.5.9",)),
    Rival("Qdrant local mode", "qdrant", ("qdrant-client==1.20.0",)),
    Rival("LanceDB, no index", "lancedb_flat", ("lancedb==0.40.0",)),
    Rival("LangGraph InMemoryStore", "langgraph_store", ("langgraph==1.2.22", "numpy")),
    Rival("ffai 0.1.8", "ffai_0_1_8", ("ffai==0.1.8",)),
)
