"""What can be asked of a memory: which turns there are, and which of them are close in meaning."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, Self, TypeVar

from ffai._text import clean_text
from ffai.core.arguments import check_search, check_timeout
from ffai.core.conversation_id import is_internal
from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import asking, joining
from ffai.core.memory.collection import Collection
from ffai.core.memory.filters import TurnFilter, Where
from ffai.core.memory.halving import told
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.knowledge_place import is_seen
from ffai.core.memory.question import Mode, Question
from ffai.core.memory.shared import Shared
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.vectorise import calls_for, check_vectors, embed_texts
from ffai.core.redact import Redactor, redactor_of
from ffai.core.scope import MemoryScope, check_actor_id, with_known_conversation
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy, scope_taken_now
from ffai.core.similarity import Vector
from ffai.core.speaker import in_the_third_person
from ffai.errors import ArgumentTypeError, ClosedError, EmbeddingError, ScopeValidationError, Violation

logger = logging.getLogger(__name__)

BARRIER = 2.0
"""Seconds a search waits, at the most, for turns that were accepted before it."""
T = TypeVar("T")
Found = TypeVar("Found", covariant=True)


class Find(Protocol[Found]):
    """Looks for what answers a question."""

    def __call__(
        self, collection: Collection, embedder: Embedder, vectors: Sequence[Vector], question: Question, /
    ) -> Found | None:
        """Return what is found; ``None`` where the embedder is no longer the one in use."""
        ...


class Recall:
    """The side of a :class:`~ffai.core.memory.memory.Memory` that looks things up."""

    def __init__(self, embeddings: Embedder, store: TurnVectorStore | None, redact: bool | Redactor) -> None:
        check_embedder(embeddings)
        self.redact = redactor_of(redact)
        """What replaces secrets in texts that come in; ``None`` where nothing does."""
        self._shared = Shared(Collection(embeddings, store if store is not None else TurnVectorStore()))
        self._policy = OPEN

    def scoped(self, scope: Scope) -> Self:
        """Return this memory as one person sees it: the same turns, with a scope under that of each call.

        What is read is of this scope, and what is remembered gets it. Fields that a call gives win.

        Args:
            scope: whose turns; ``MemoryScope.all()`` for everybody's.

        Raises:
            ScopeValidationError, ArgumentTypeError: the scope can't be used.

        Examples:
            >>> from ffai import Memory, MemoryScope
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.scoped(MemoryScope.user("alice")).remember("I like tea", "Noted.")
            >>> len(memory.search("tea")), len(memory.scoped(MemoryScope.user("bob")).search("tea"))
            (1, 0)
        """
        return self.under(self._policy.narrowed(scope))

    def under(self, policy: ScopePolicy) -> Self:
        """Return this memory with what applies to the scopes of its calls."""
        view = copy.copy(self)
        view._policy = policy
        return view

    @property
    def _collection(self) -> Collection:
        return self._shared.collection

    @property
    def embeddings(self) -> Embedder:
        """What makes the vectors."""
        return self._collection.embedder

    @property
    def store(self) -> TurnVectorStore:
        """The turns. A store that is assigned takes the place of this one; where turns are persisted, it is merged.

        Raises:
            ScopeValidationError: a memory that is scoped has none: it would hold everybody's turns.
        """
        self._check_whole()
        return self._collection.store

    @store.setter
    def store(self, store: TurnVectorStore) -> None:
        self._check_whole()
        with self._shared.entering:
            joining.adopt(self._collection, store)

    def _check_whole(self) -> None:
        if not self._policy.is_open and not self._policy.searching(None).is_all:
            told = "a scoped memory has no store, which holds everybody's turns; scoped(MemoryScope.all()) has it"
            raise ScopeValidationError([Violation("scope", "required", told)])

    @property
    def _open(self) -> Collection:
        if self._shared.closed or self._collection.closed:
            raise ClosedError("The memory is closed; turns can't be added to it any more.")
        return self._collection

    def search(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        speaker_actor_id: str | None = None,
        speaker_rewrite: bool = False,
        mode: Mode = "vector",
        as_of: float | None = None,
        half_life: float | None = None,
        explain: bool = False,
        wait: float | None = BARRIER,
        distinct: bool = False,
    ) -> list[TurnHit]:
        """Find the turns that fit a question best.

        Args:
            query: what to look for, in words.
            top_k: how many at the most; none for 0 or less.
            threshold: keeps cosines of at least this; ``None`` keeps all.
            where: only turns whose metadata has these values under these keys, compared as JSON; see
                :meth:`~ffai.core.memory.filters.TurnFilter.of`.
            scope: only turns of this scope: each field that is given must be the same, as a whole value, and all
                participants must have taken part in the turn's conversation.
            speaker_actor_id: who asks, up to 64 characters. It never changes which turns may be found.
            speaker_rewrite: whether English words of the first person stand for who asks, by the name that the last
                turn with one gives, else by the id: other turns may then come first.
            mode: ``"vector"``, by meaning; ``"keyword"``, by words, where some are the same; ``"hybrid"``, by both,
                and by speakers and times that the question names. ``hit.score`` is the cosine in each.
            as_of: when it is asked, for words such as "yesterday": seconds since the epoch; now if left out.
            half_life: for ``"hybrid"``: seconds after which being recent counts half; ``None`` lets it not count.
            explain: whether ``hit.explained`` tells what its place is made of.
            wait: seconds to wait, at the most, until turns accepted before this call can be found; ``None`` waits as
                long as it takes.
            distinct: whether turns with the same text in the same scope count once; ``hit.repeats`` and
                ``hit.last_timestamp`` then tell how many they are, and when the last was said.

        Returns:
            Best first; equal ones in the order they were added.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.
            EmbeddingError: the embedder gave a vector that can't be used.
            Exception: whatever the embedder raises.
        """
        check_search(query, top_k, threshold, wait)
        speaker = check_actor_id("speaker_actor_id", speaker_actor_id)
        question = Question.of(
            query,
            top_k,
            threshold,
            wanted=self._wanted(where, scope),
            distinct=distinct,
            mode=mode,
            as_of=as_of,
            half_life=half_life,
            explain=explain,
        )
        speaks = speaker if speaker_rewrite else None
        hits = self._ask(question, speaks, wait, asking.find) or []
        return self._noted(hits, scope)

    def _ask(self, question: Question, speaker: str | None, wait: float | None, find: Find[T]) -> T | None:
        """Embed a question once, and find what answers it; ``None`` where there is nothing to be found.

        Args:
            question: what is asked.
            speaker: who says "I"; ``None`` leaves such words alone.
            wait: seconds to wait, at the most, until what was accepted before can be found.
            find: looks for it; ``None`` where the embedder is no longer the one in use.
        """
        self._collection.wait_for_question(question, check_timeout(wait))
        if question.top_k <= 0 or self._is_empty(question):
            return None
        question = self._settled_question(question, speaker)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                texts = asking.embedded_texts(self._collection, question)
                try:
                    vectors = embed_texts(embedder, texts) if texts else []
                except (EmbeddingError, OSError) as error:
                    vectors = _without_meaning(question, error)
            if (found := find(self._collection, embedder, vectors, question)) is not None:
                return found

    async def _aask(self, question: Question, speaker: str | None, wait: float | None, find: Find[T]) -> T | None:
        """Await :meth:`_ask`."""
        await asyncio.to_thread(self._collection.wait_for_question, question, check_timeout(wait))
        if question.top_k <= 0 or await asyncio.to_thread(self._is_empty, question):
            return None
        question = await asyncio.to_thread(self._settled_question, question, speaker)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                texts = await asyncio.to_thread(asking.embedded_texts, self._collection, question)
                try:
                    vectors = await self._aembed(embedder, texts) if texts else []
                except (EmbeddingError, OSError) as error:
                    vectors = _without_meaning(question, error)
            found = await asyncio.to_thread(find, self._collection, embedder, vectors, question)
            if found is not None:
                return found

    def _is_empty(self, question: Question) -> bool:
        """Tell whether there is nothing that a question could find."""
        collection = self._collection
        if collection.store.count() or collection.knowledge.count():
            return False
        by_words = question.mode != "vector"
        return not (by_words and collection.journal.read(lambda journal: journal.count_unembedded()))

    @scope_taken_now
    async def asearch(
        self,
        query: str,
        top_k: int = 5,
        threshold: float | None = None,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        speaker_actor_id: str | None = None,
        speaker_rewrite: bool = False,
        mode: Mode = "vector",
        as_of: float | None = None,
        half_life: float | None = None,
        explain: bool = False,
        wait: float | None = BARRIER,
        distinct: bool = False,
    ) -> list[TurnHit]:
        """Await :meth:`search`."""
        check_search(query, top_k, threshold, wait)
        speaker = check_actor_id("speaker_actor_id", speaker_actor_id)
        question = Question.of(
            query,
            top_k,
            threshold,
            wanted=self._wanted(where, scope),
            distinct=distinct,
            mode=mode,
            as_of=as_of,
            half_life=half_life,
            explain=explain,
        )
        speaks = speaker if speaker_rewrite else None
        hits = await self._aask(question, speaks, wait, asking.find) or []
        return self._noted(hits, scope)

    def _noted(self, hits: list[TurnHit], scope: Scope | None) -> list[TurnHit]:
        """Note what is handed out, so that it is not remembered as new where it comes back in a prompt."""
        if hits:
            self._shared.recalled.note((hit.text for hit in hits), self._policy.searching(scope).actor_id)
        return hits

    def _asked_scope(self, scope: Scope | None) -> MemoryScope:
        return self._policy.searching(scope)

    def _sees(self, scope: Scope | None) -> Callable[[str], bool]:
        """Return what tells of a place whether its knowledge is seen in a scope."""
        asked = self._policy.searching(scope)
        wanted = self.settled(TurnFilter.of(None, asked))
        return partial(is_seen, asked=asked, wanted=wanted)

    def _wanted(self, where: Where | None, scope: Scope | None) -> TurnFilter:
        return TurnFilter.of(where, self._policy.searching(scope))

    def accepted_scope(self, scope: Scope | None) -> MemoryScope:
        """Return the scope that a turn is stored with: with the caller's own id of its conversation.

        Raises:
            ScopeValidationError: it can't be stored; the internal form of a conversation id is unknown.
            ArgumentTypeError: it is no scope.
        """
        return self._with_known_conversation(self._policy.adding(scope))

    def kept_scope(self, scope: Scope | None) -> MemoryScope:
        """Return the scope that knowledge or a thread is kept with: of a person, a conversation, both, or neither.

        Raises:
            ScopeValidationError: it can't be kept with it; the internal form of a conversation id is unknown.
            ArgumentTypeError: it is no scope.
        """
        allowed = self._policy.searching(scope)
        if allowed.participant_ids:
            told = "participant_ids can't be kept with it: give a person, a conversation, or neither"
            raise ScopeValidationError([Violation("participant_ids", "exclusive", told)])
        return self._with_known_conversation(allowed.place)

    def _with_known_conversation(self, allowed: MemoryScope) -> MemoryScope:
        conversation = allowed.conversation_id
        if conversation is None or not is_internal(conversation):
            return allowed
        self._collection.catch_up()
        with self._collection.changing:
            waiting = self._collection.journal.read(lambda journal: journal.unembedded())
            known = self._collection.store._external_id(conversation, waiting)
        return with_known_conversation(allowed, known)

    def settled(self, wanted: TurnFilter) -> TurnFilter:
        """Find out which conversations a filter's people have in common, also by turns that wait to be embedded."""
        if not wanted.people:
            return wanted
        with self._collection.changing:  # a turn leaves the waiting ones a moment before it is in the store
            waiting = self._collection.journal.read(lambda journal: journal.unembedded())
            return self._collection.store._settled(wanted, waiting)

    def _settled_question(self, question: Question, speaker: str | None) -> Question:
        """Return a question as it is asked of the turns that are there now.

        Args:
            question: as it was asked.
            speaker: who says "I"; ``None`` leaves such words alone.
        """
        text = question.text
        if speaker is not None:
            text = in_the_third_person(text, self._collection.store._name_of(speaker) or speaker)
        if self.redact is not None:  # a secret finds turns by its placeholder, as they have it
            text = self.redact(clean_text(text))
        return replace(question, text=clean_text(text), wanted=self.settled(question.wanted))

    async def _aembed(self, embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for some in calls_for(texts):
            vectors += await self._aembed_some(embedder, list(some))
        return vectors

    async def _aembed_some(self, embedder: Embedder, texts: list[str]) -> list[Vector]:
        if callable(aembed := getattr(embedder, "aembed", None)):
            return check_vectors(embedder, await aembed(texts), len(texts))
        return await asyncio.to_thread(embed_texts, embedder, texts)

    def count(self) -> int:
        """Return how many turns a search can find, those of other processes too."""
        wanted = self._wanted(None, None)
        self._collection.catch_up()
        return len(self._collection.store._select(self.settled(wanted)))


def _without_meaning(question: Question, error: Exception) -> list[Vector]:
    """Go on without the vectors of a question where its words are enough; raise the error where they are not."""
    if question.mode != "keyword":
        raise error
    logger.warning(
        "The question can't be embedded just now; its words are looked for, and scores are 0: %s", told(error)
    )
    return []


def check_embedder(embeddings: object) -> None:
    """Refuse what can't embed."""
    if not callable(getattr(embeddings, "embed", None)):
        raise ArgumentTypeError(f"embeddings must have a method embed(texts), {embeddings!r} has none.")
