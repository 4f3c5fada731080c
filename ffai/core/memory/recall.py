"""What can be asked of a memory: which turns there are, and which of them are close in meaning."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from ffai._text import clean_text
from ffai.core.arguments import check_search, check_timeout, check_whole
from ffai.core.embeddings.protocol import Embedder
from ffai.core.memory import asking, joining
from ffai.core.memory.collection import Collection
from ffai.core.memory.filters import TurnFilter, Where
from ffai.core.memory.hit import TurnHit
from ffai.core.memory.listing import Unembedded, page_of, place_at
from ffai.core.memory.question import Mode, Question
from ffai.core.memory.shared import Shared
from ffai.core.memory.turn_page import TurnPage
from ffai.core.memory.turn_store import TurnVectorStore
from ffai.core.memory.vectorise import calls_for, check_vectors, embed_texts
from ffai.core.redact import Redactor, redactor_of
from ffai.core.scope import check_actor_id
from ffai.core.scope_policy import OPEN, Scope, ScopePolicy, scope_taken_now
from ffai.core.similarity import Vector
from ffai.core.speaker import in_the_third_person
from ffai.errors import ArgumentTypeError, ClosedError, ScopeValidationError, Violation

BARRIER = 2.0
"""Seconds a search waits, at the most, for turns that were accepted before it."""


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
        self._collection.wait_for_question(question, check_timeout(wait))
        if top_k <= 0 or not self._collection.store.count():
            return []
        question = self._settled_question(question, speaker if speaker_rewrite else None)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                texts = asking.embedded_texts(self._collection, question)
                vectors = embed_texts(embedder, texts) if texts else []
            if (hits := asking.find(self._collection, embedder, vectors, question)) is not None:
                return hits

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
        await asyncio.to_thread(self._collection.wait_for_question, question, check_timeout(wait))
        if top_k <= 0 or not self._collection.store.count():
            return []
        question = await asyncio.to_thread(self._settled_question, question, speaker if speaker_rewrite else None)
        while True:
            embedder = self.embeddings
            with self._collection.queries:
                texts = await asyncio.to_thread(asking.embedded_texts, self._collection, question)
                vectors = await self._aembed(embedder, texts) if texts else []
            hits = await asyncio.to_thread(asking.find, self._collection, embedder, vectors, question)
            if hits is not None:
                return hits

    def _wanted(self, where: Where | None, scope: Scope | None) -> TurnFilter:
        return TurnFilter.of(where, self._policy.searching(scope))

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

    # Listing: last, because from here on the class has a list of its own

    @scope_taken_now
    async def alist(
        self,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """Await :meth:`list`."""
        return await asyncio.to_thread(self.list, where=where, scope=scope, limit=limit, cursor=cursor)

    def list(
        self,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """Return the next turns, oldest first, also those that wait to be embedded or were given up.

        Each turn keeps its place, by its time and its id: whatever is added or forgotten between two pages, every
        turn that stays is given once.

        Args:
            where: only turns whose metadata has these values under these keys; see :meth:`search`.
            scope: only turns of this scope.
            limit: how many at the most.
            cursor: where the last page ended, ``page.cursor``; ``None`` for the first page.

        Returns:
            The turns, and the cursor for the next page. No embedder is needed.

        Raises:
            InvalidArgumentError, ArgumentTypeError: an argument can't be used; names it.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> for number in range(3):
            ...     _ = memory.remember(f"Question {number}", "Answer", timestamp=number)
            >>> page = memory.list(limit=2)
            >>> [turn.prompt for turn in page.turns], [turn.prompt for turn in memory.list(cursor=page.cursor).turns]
            (['Question 0', 'Question 1'], ['Question 2'])
        """
        wanted, after = self._wanted(where, scope), place_at(cursor)
        check_whole("limit", limit, least=1)
        self._collection.catch_up()
        with self._collection.changing:  # a turn leaves the waiting ones a moment before it is in the store
            rows = self._collection.journal.read(lambda journal: journal.unembedded_states())
            wanted = self._collection.store._settled(wanted, [turn for turn, _ in rows])
            selection = self._collection.store._select(wanted)
        unembedded = [Unembedded(turn, "failed" if failed else "waiting") for turn, failed in rows]
        return page_of(selection, unembedded, wanted, limit=limit, after=after, now=time.time())


def check_embedder(embeddings: object) -> None:
    """Refuse what can't embed."""
    if not callable(getattr(embeddings, "embed", None)):
        raise ArgumentTypeError(f"embeddings must have a method embed(texts), {embeddings!r} has none.")
