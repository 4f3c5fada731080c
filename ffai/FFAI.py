"""The wrapper: the only place where client, histories, memory and configuration meet.

Everything heavy is imported when an ``FFAI`` is made, so that ``import ffai`` is quick.
"""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack, overload

from ffai._memory import given_memory, made_memory
from ffai.typing import Prompt

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from ffai.config import Config
    from ffai.core.history_manager import HistoryManager
    from ffai.core.memory.memory import Memory
    from ffai.core.memory.status import FlushResult
    from ffai.core.scope_policy import Scope, ScopeGuard, ScopePolicy
    from ffai.objects import AsyncStore, Store
    from ffai.rag.agent_memory import AgentMemory
    from ffai.rag.answer import AskResult
    from ffai.rag.ask_options import AskKeywords
    from ffai.rag.thread import Thread
    from ffai.workflow.engine import WorkflowEngine
    from ffai.workflow.options import ResponseOptions
    from ffai.workflow.result import ResponseResult


class FFAI:
    """A chat client with histories and, where it is enabled, memory that recalls turns by meaning.

    What is not given as a keyword comes from the environment, then from YAML, then from the defaults.

    Args:
        client: any object with ``model`` and ``generate_response(prompt, **kwargs)``.
        persist_dir: folder for exported histories; made when something is written.
        persist_name: what the exported histories are called.
        auto_persist: export a history whenever its frame is made.
        memory_enabled: whether turns are remembered.
        memory_embeddings: the embedding model, such as ``"local/all-MiniLM-L6-v2"``.
        memory_persist: whether memory is kept in files.
        memory: a memory of your own; no embedding model is looked for then.
        default_scope: lies under the scope of each call; see :meth:`scoped`.
        agent_actor_id: who answers, up to 64 characters: takes part in each conversation that it answers in.
        require_scope: whether a call without a scope is an error; ``MemoryScope.all()`` says that everybody is meant.
        scope_guard: takes the scope of each call, and returns it, or a narrower one, or raises.
        config: a :class:`~ffai.config.Config`, a mapping of sections, or the path of a YAML file or folder.

    Raises:
        ArgumentTypeError: ``client`` has no ``generate_response``, or ``memory`` is not a memory.
        ScopeValidationError: the default scope or the agent's id can't be used.
        ConfigError: a setting is unknown or has a wrong type; names file and key.

    Examples:
        >>> from ffai import Memory
        >>> from ffai.testing import FakeClient, FakeEmbedder
        >>> with FFAI(FakeClient(["Under the mat."]), memory=Memory(FakeEmbedder())) as ffai:
        ...     _ = ffai.generate_response("Where is the key?", prompt_name="key")
        ...     ffai.history.search("the key", top_k=1)[0].response
        'Under the mat.'
    """

    def __init__(
        self,
        client: Any,
        *,
        persist_dir: str | Path | None = None,
        persist_name: str | None = None,
        auto_persist: bool = False,
        memory_enabled: bool | None = None,
        memory_embeddings: str | None = None,
        memory_persist: bool | None = None,
        memory: Memory | None = None,
        default_scope: Scope | None = None,
        agent_actor_id: str | None = None,
        require_scope: bool = False,
        scope_guard: ScopeGuard | None = None,
        config: Config | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    ) -> None:
        from ffai.chat.calling import check_client
        from ffai.config import Config
        from ffai.core.history.recorder import HistoryRecorder
        from ffai.core.history_manager import HistoryManager
        from ffai.core.redact import redactor_of
        from ffai.core.scope_policy import ScopePolicy
        from ffai.workflow.engine import WorkflowEngine

        check_client(client)
        self._config = Config.load(config).with_values(
            memory={"enabled": memory_enabled, "embedding_model": memory_embeddings, "persist": memory_persist},
            paths={"ffai_data": None if persist_dir is None else os.fspath(persist_dir)},
        )
        self._memory_is_given, self._is_view = memory is not None, False
        settings = self._config.memory
        remembers = given_memory(memory, settings, bool(memory_persist)) if memory else made_memory(settings)
        recorder = HistoryRecorder(memory=remembers, max_turns=self._config.history.max_turns)
        histories = HistoryManager(
            recorder,
            persist_dir=self._config.paths.ffai_data,
            persist_name=persist_name,
            auto_persist=auto_persist,
            redact=getattr(remembers, "redact", None) or redactor_of(self._config.memory.redact),
        )
        workflow = WorkflowEngine(client, recorder, agent_actor_id=agent_actor_id)
        if remembers is not None:
            remembers.when_forgotten(histories.forget)
            remembers.when_forgotten(workflow.forget)
        self._recorder, self._agent_actor_id = recorder, agent_actor_id
        self._histories, self._engine = histories, workflow  # the memory calls them for as long as they are held
        self._set_policy(ScopePolicy(is_required=require_scope, guard=scope_guard).narrowed(default_scope))

    def _set_policy(self, policy: ScopePolicy) -> None:
        self._policy = policy
        self._history = self._histories if policy.is_open else self._histories.under(policy)
        self._workflow = self._engine if policy.is_open else self._engine.under(policy)

    def scoped(self, scope: Scope) -> FFAI:
        """Return a light view for one person, one conversation, or both: with a scope under that of each call.

        It has the same client, histories and memory. What it records belongs to the scope, and what it reads is of the
        scope; fields that a call gives win. Closing a view waits as :meth:`flush` does, and leaves this one open.

        Args:
            scope: a :class:`~ffai.MemoryScope`, or a mapping of its fields.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.

        Examples:
            >>> from ffai import Memory, MemoryScope
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> ffai = FFAI(FakeClient(["Noted."]), memory=Memory(FakeEmbedder()))
            >>> alice, bob = (ffai.scoped(MemoryScope.user(name)) for name in ("alice", "bob"))
            >>> _ = alice.generate_response("I cannot eat nuts")
            >>> len(alice.history.search("nuts")), len(bob.history.search("nuts"))
            (1, 0)
        """
        view = copy.copy(self)
        view._is_view = True
        view._set_policy(self._policy.narrowed(scope))
        return view

    # Parts

    @property
    def client(self) -> Any:
        """The chat client; see :meth:`set_client`. For one person, the one that keeps this person's conversation."""
        return self._workflow.client

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._config

    @property
    def history(self) -> HistoryManager:
        """The four histories, and search in memory."""
        return self._history

    @property
    def workflow(self) -> WorkflowEngine:
        """Named prompts."""
        return self._workflow

    @property
    def rag(self) -> AgentMemory:
        """Answers that rest on memory, knowledge and threads."""
        from ffai.rag.agent_memory import AgentMemory

        return AgentMemory(
            self._engine.client,
            self.memory,
            recorder=self._recorder,
            policy=self._policy,
            agent_actor_id=self._agent_actor_id,
            is_closed=lambda: self._engine.closed,
        )

    @property
    def memory(self) -> Memory | None:
        """The memory; ``None`` where it is off."""
        return self._history.memory

    def set_client(self, client: Any) -> None:
        """Go on with another client; histories and memory stay.

        Raises:
            ArgumentTypeError: it has no ``generate_response``.
        """
        self._workflow.client = client

    # Asking

    def generate_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: ResponseOptions | Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> ResponseResult:
        """Ask the client and record the turn; see :meth:`WorkflowEngine.generate_response`."""
        return self._workflow.generate_response(prompt, prompt_name, history, options, scope=scope, **kwargs)

    def agenerate_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: ResponseOptions | Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, ResponseResult]:
        """Await :meth:`generate_response`. The scope is taken now, whenever the call begins."""
        return self._workflow.agenerate_response(prompt, prompt_name, history, options, scope=scope, **kwargs)

    def stream_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: ResponseOptions | Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> Iterator[str]:
        """Ask the client for its answer in pieces; see :meth:`WorkflowEngine.stream_response`."""
        return self._workflow.stream_response(prompt, prompt_name, history, options, scope=scope, **kwargs)

    def astream_response(
        self,
        prompt: Prompt,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
        options: ResponseOptions | Mapping[str, Any] | None = None,
        *,
        scope: Scope | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[str]:
        """Iterate asynchronously; see :meth:`stream_response`."""
        return self._workflow.astream_response(prompt, prompt_name, history, options, scope=scope, **kwargs)

    def ask(self, question: str, *, thread: Thread | None = None, **options: Unpack[AskKeywords]) -> AskResult:
        """Answer a question from memory; see :meth:`AgentMemory.ask`.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> ffai = FFAI(FakeClient(["Under the mat.", "It is under the mat."]), memory=Memory(FakeEmbedder()))
            >>> _ = ffai.generate_response("Where is the key?")
            >>> answer = ffai.ask("Where did we put the key?")
            >>> answer.answer, answer.grounded
            ('It is under the mat.', True)
        """
        return self.rag.ask(question, thread=thread, **options)

    def aask(
        self, question: str, *, thread: Thread | None = None, **options: Unpack[AskKeywords]
    ) -> Coroutine[Any, Any, AskResult]:
        """Await :meth:`ask`. Arguments are checked, and the scope is taken, now."""
        return self.rag.aask(question, thread=thread, **options)

    # Records

    @overload
    def records(
        self, engine: Engine, *, scope: Mapping[type, Callable[[], Any]] | None = None, **settings: Any
    ) -> Store: ...
    @overload
    def records(
        self, engine: AsyncEngine, *, scope: Mapping[type, Callable[[], Any]] | None = None, **settings: Any
    ) -> AsyncStore: ...
    def records(
        self, engine: Engine | AsyncEngine, *, scope: Mapping[type, Callable[[], Any]] | None = None, **settings: Any
    ) -> Store | AsyncStore:
        """Return a store for the records of a database: with this client, the memory's embedder, and the settings.

        Args:
            engine: SQLAlchemy's; an async one gives an :class:`~ffai.objects.AsyncStore`.
            scope: what can be seen now, for a class; see :class:`~ffai.objects.Store`.
            **settings: win over those of the section ``objects``.

        Raises:
            MissingExtraError: SQLAlchemy is not installed.
            ArgumentTypeError, InvalidArgumentError: an argument can't be used.

        Examples:
            >>> from sqlalchemy import create_engine
            >>> from ffai import Memory
            >>> from ffai.testing import FakeClient, FakeEmbedder
            >>> ffai = FFAI(FakeClient(), memory=Memory(FakeEmbedder()))
            >>> with ffai.records(create_engine("sqlite://"), generate="commit") as store:
            ...     store.backend
            'process'
        """
        from ffai.core.arguments import from_keywords
        from ffai.objects import StoreSettings
        from ffai.objects.opening import open_store

        told = from_keywords(StoreSettings, {**self._config.objects.model_dump(), **settings})
        memory = self.memory
        is_named = told.embedding_model is not None or told.provider != "auto"
        return open_store(
            engine,
            llm=self._engine.client,
            embedder=None if memory is None or is_named else memory.embeddings,
            scope=scope,
            settings=told,
        )

    # Ending

    def flush(self, timeout: float | None = None) -> FlushResult | None:
        """Wait until every turn so far can be found and is in the file; see :meth:`Memory.flush`.

        Returns:
            What became of the turns; ``None`` where memory is off.
        """
        return self._history.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> FlushResult | None:
        """Await :meth:`flush`."""
        return await self._history.aflush(timeout)

    def close(self, timeout: float | None = 5.0) -> FlushResult | None:
        """End cleanly: turns are embedded and saved within the time, and the rest waits for the next start.

        Histories and memory can still be read. Closing again does nothing. A memory that was given and is not
        persisted stays open: it is yours.

        Args:
            timeout: seconds to wait at the most; ``None`` waits as long as it takes.

        Returns:
            What became of the turns; ``None`` where memory is off.
        """
        if not self._is_view:
            self._workflow.close()
        memory = self.memory
        if memory is None:
            return None
        return memory.flush(timeout) if self._memory_stays_open(memory) else memory.close(timeout)

    async def aclose(self, timeout: float | None = 5.0) -> FlushResult | None:
        """Await :meth:`close`."""
        if not self._is_view:
            self._workflow.close()
        memory = self.memory
        if memory is None:
            return None
        return await (memory.aflush(timeout) if self._memory_stays_open(memory) else memory.aclose(timeout))

    def _memory_stays_open(self, memory: Memory) -> bool:
        return self._is_view or (self._memory_is_given and not memory.status().files)

    def __enter__(self) -> FFAI:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> FFAI:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
