"""What a memory finds for one who answers from it: turns, and what it was taught."""

from __future__ import annotations

from collections.abc import Collection as Kinds
from collections.abc import Iterable
from functools import partial

from ffai.core.arguments import check_ids, check_search
from ffai.core.memory.browsing import Browsing
from ffai.core.memory.filters import Where
from ffai.core.memory.knowledge import Knowledge
from ffai.core.memory.question import Mode, Question
from ffai.core.memory.recall import BARRIER, Find
from ffai.core.memory.retrieving import NOTHING, Retrieved, TurnPlace, find_all, find_place
from ffai.core.memory.threads import Threads
from ffai.core.scope import check_actor_id
from ffai.core.scope_policy import Scope, scope_taken_now


class Retrieval(Browsing):
    """The side of a :class:`~ffai.core.memory.memory.Memory` that answers are made from."""

    @property
    def knowledge(self) -> Knowledge:
        """Facts under keys, with the scope of this memory under that of each call."""
        return Knowledge(self)

    @property
    def threads(self) -> Threads:
        """Conversations that are kept as they are, with the scope of this memory under that of each call."""
        return Threads(self)

    def retrieve(
        self,
        query: str,
        top_k: int = 10,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        speaker_actor_id: str | None = None,
        speaker_rewrite: bool = False,
        mode: Mode = "hybrid",
        as_of: float | None = None,
        half_life: float | None = None,
        wait: float | None = BARRIER,
        without_kinds: Kinds[str] = (),
    ) -> Retrieved:
        r"""Find the turns and the knowledge that fit a question best, embedding it once.

        Turns with the same text in the same scope count once, and everything tells what its place is made of.

        Args:
            query: what to look for, in words.
            top_k: how many turns, and how many entries of knowledge, at the most.
            where: which turns, by their metadata; knowledge is not chosen by it.
            scope: whose.
            speaker_actor_id: who asks.
            speaker_rewrite: whether words of the first person stand for who asks.
            mode: ``"hybrid"``, ``"vector"`` or ``"keyword"``.
            as_of: when it is asked.
            half_life: seconds after which being recent counts half.
            wait: seconds to wait, at the most, until what was accepted before this call can be found.
            without_kinds: knowledge whose value has one of these under ``"kind"`` is left out.

        Raises:
            As :meth:`search`.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> memory.knowledge.learn("spare", "The spare key is at Bob's.")
            >>> found = memory.retrieve("the key")
            >>> [hit.text for hit in found.turns], [known.key for known in found.knowledge]
            (['Where is the key?\nUnder the mat.'], ['spare'])
        """
        question, speaker, find = self._to_retrieve(
            query, top_k, where, scope, speaker_actor_id, mode, as_of, half_life, wait, without_kinds
        )
        return self._ask(question, speaker if speaker_rewrite else None, wait, find) or NOTHING

    @scope_taken_now
    async def aretrieve(
        self,
        query: str,
        top_k: int = 10,
        *,
        where: Where | None = None,
        scope: Scope | None = None,
        speaker_actor_id: str | None = None,
        speaker_rewrite: bool = False,
        mode: Mode = "hybrid",
        as_of: float | None = None,
        half_life: float | None = None,
        wait: float | None = BARRIER,
        without_kinds: Kinds[str] = (),
    ) -> Retrieved:
        """Await :meth:`retrieve`."""
        question, speaker, find = self._to_retrieve(
            query, top_k, where, scope, speaker_actor_id, mode, as_of, half_life, wait, without_kinds
        )
        return await self._aask(question, speaker if speaker_rewrite else None, wait, find) or NOTHING

    def place_of(
        self,
        query: str,
        turn_id: str,
        *,
        scope: Scope | None = None,
        mode: Mode = "hybrid",
        as_of: float | None = None,
        half_life: float | None = None,
    ) -> TurnPlace:
        """Tell where a turn stands among all that may be seen, however far it is from a question.

        Args:
            query: what is looked for, in words.
            turn_id: the turn's id.
            scope: whose.
            mode: ``"hybrid"``, ``"vector"`` or ``"keyword"``.
            as_of: when it is asked.
            half_life: seconds after which being recent counts half.

        Raises:
            As :meth:`search`.
        """
        check_search(query, 1, None, None)
        wanted = self._wanted(None, scope)
        question = Question.of(query, 1, wanted=wanted, mode=mode, as_of=as_of, half_life=half_life, explain=True)
        return self._ask(question, None, BARRIER, partial(find_place, turn_id=turn_id)) or TurnPlace(None)

    @scope_taken_now
    async def aplace_of(
        self,
        query: str,
        turn_id: str,
        *,
        scope: Scope | None = None,
        mode: Mode = "hybrid",
        as_of: float | None = None,
        half_life: float | None = None,
    ) -> TurnPlace:
        """Await :meth:`place_of`."""
        check_search(query, 1, None, None)
        wanted = self._wanted(None, scope)
        question = Question.of(query, 1, wanted=wanted, mode=mode, as_of=as_of, half_life=half_life, explain=True)
        return await self._aask(question, None, BARRIER, partial(find_place, turn_id=turn_id)) or TurnPlace(None)

    def _to_retrieve(
        self,
        query: str,
        top_k: int,
        where: Where | None,
        scope: Scope | None,
        speaker_actor_id: str | None,
        mode: Mode,
        as_of: float | None,
        half_life: float | None,
        wait: float | None,
        without_kinds: Kinds[str],
    ) -> tuple[Question, str | None, Find[Retrieved]]:
        check_search(query, top_k, None, wait)
        speaker = check_actor_id("speaker_actor_id", speaker_actor_id)
        wanted = self._wanted(where, scope)
        question = Question.of(
            query, top_k, wanted=wanted, distinct=True, mode=mode, as_of=as_of, half_life=half_life, explain=True
        )
        return (
            question,
            speaker,
            partial(find_all, seen=self._sees(scope), without_kinds=check_ids("without_kinds", without_kinds)),
        )

    # What comes back

    def note_recalled(self, texts: Iterable[str], *, scope: Scope | None = None, instead: str = "") -> None:
        """Note texts that were made of memories: where one comes back in a prompt, it is not remembered as new.

        Args:
            texts: each as it may come back, in whole lines.
            scope: whose memories were asked for.
            instead: what is remembered in the place of each.
        """
        self._shared.recalled.note(texts, self._policy.searching(scope).actor_id, instead=instead)

    def without_recalled(self, prompt: str, *, scope: Scope | None = None) -> str:
        r"""Return what is new in a prompt: without texts that this memory has handed out lately, in this process.

        Args:
            prompt: what is said.
            scope: whose it is: what others recalled counts as new.

        Examples:
            >>> from ffai import Memory
            >>> from ffai.testing import FakeEmbedder
            >>> memory = Memory(FakeEmbedder())
            >>> _ = memory.remember("Where is the key?", "Under the mat.")
            >>> known = memory.search("the key")[0].text
            >>> memory.without_recalled(known + "\nAnd the spare one?")
            'And the spare one?'
        """
        return self._shared.recalled.without(prompt, self._policy.adding(scope).actor_id)
