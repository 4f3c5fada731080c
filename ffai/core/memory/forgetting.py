"""Forgetting turns: in memory, in the journal, in the files, and in what other processes hold of them."""

from __future__ import annotations

import time
from collections.abc import Collection as Ids
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

from ffai.core.embeddings.protocol import forget_texts
from ffai.core.memory.collection import Collection
from ffai.core.memory.erasing import erase, erase_knowledge
from ffai.core.memory.filters import EVERY_TURN, TurnFilter
from ffai.core.memory.identity import NewTurn, is_content_id
from ffai.core.memory.journal import Journal
from ffai.core.memory.knowledge_place import is_within
from ffai.core.memory.reading import read_collection
from ffai.core.memory.saving import LONGEST_WRITE
from ffai.core.memory.status import ForgetResult
from ffai.core.memory.vectorise import texts_and_parts
from ffai.errors import JournalError, StoreError

PATIENCE = 5.0
"""Seconds that readers of the journal are waited for, until nothing of what was dropped is left in its log."""
PAUSE = 0.05


def forget(
    collection: Collection,
    turn_ids: Ids[str] | None,
    wanted: TurnFilter = EVERY_TURN,
    *,
    patience: float = LONGEST_WRITE,
    with_knowledge: bool = True,
) -> ForgetResult:
    """Forget turns; see :meth:`Memory.forget`.

    Args:
        collection: whose turns they are.
        turn_ids: only turns with these ids; ``None`` for any.
        wanted: only turns that fulfil this.
        patience: seconds to wait for another process that writes the files.
        with_knowledge: whether what was made from the turns goes with them, and where all of a scope is forgotten, its
            knowledge and its threads.
    """
    asked = (turn_ids or ()) if wanted.allows_all else ()  # unknown ones may be anybody's
    with collection.saver.kept_still(patience) if collection.saver else nullcontext():
        with collection.changing:
            collection.catch_up()
            whole = _settled(collection, wanted) if turn_ids is None else None  # now: turns tell who took part in what
            ids = _chosen(collection, turn_ids, wanted)
            texts = [text for turn, _ in collection.store._turns_of(ids) for text in texts_and_parts(turn.text)]
            removed = _drop(collection, ids)
            if with_knowledge:
                mine = wanted if turn_ids is None or wanted.allows_all else _settled(collection, wanted)
                removed |= forget_knowledge(collection, {*asked, *ids}, whole, among=(turn_ids or (), mine))
        removed["cache"] = forget_texts(collection.embedder, texts)
        with _finished_later(collection):
            removed |= _erase(collection, asked)
            remains = _wait_for_empty_log(collection)
    collection.tell()
    told = collection.listeners.tell({*asked, *ids})  # also of unknown ones: an earlier try may have failed here
    return ForgetResult(tuple(sorted(ids)), removed | told, _remains(told) | remains)


def _drop(collection: Collection, ids: set[str]) -> dict[str, int]:
    """Drop turns from the journal and from memory."""
    if not ids:
        return {}
    waiting, journaled = collection.journal.drop(lambda journal: journal.forget(ids))
    return {"memory": collection.store._drop(ids), "waiting": waiting, "journal": journaled}


def _chosen(collection: Collection, turn_ids: Ids[str] | None, wanted: TurnFilter) -> set[str]:
    """Return the ids of the turns that are meant."""
    if turn_ids is not None and wanted.allows_all:
        return _known(collection, turn_ids)
    others = _not_in_store(collection)
    wanted = collection.store._settled(wanted, others)
    chosen = {*collection.store._chosen(wanted), *(turn.turn_id for turn in others if wanted.allows(turn))}
    return chosen if turn_ids is None else chosen & _known(collection, turn_ids)


def _settled(collection: Collection, wanted: TurnFilter) -> TurnFilter:
    return collection.store._settled(wanted, _not_in_store(collection)) if wanted.people else wanted


def _not_in_store(collection: Collection) -> list[NewTurn]:
    waiting = collection.journal.drop(lambda journal: journal.unembedded())
    return [*waiting, *_unseen(collection)]


def _unseen(collection: Collection) -> list[NewTurn]:
    """Return the turns that this process can't search, because another one embeds them with another model."""
    if collection.place is None or collection.follower is None or collection.follower.model is None:
        return []
    found = read_collection(collection.place, collection.journal, collection.notes)
    return [*found.rows.turns(), *(turn.new for turn in found.changes.indexed)]


def _known(collection: Collection, turn_ids: Ids[str]) -> set[str]:
    """Return those turns that are here, and those of the same content as one of them.

    Raises:
        JournalError: the file that turns wait in can't be written just now, so that it can't be said which are here.
    """
    wanted, here = set(turn_ids), {*collection.store._ids(), *collection.journal.drop(lambda journal: journal.ids())}
    return {
        turn_id
        for turn_id in here
        if turn_id in wanted or (is_content_id(turn_id) and turn_id.partition("-")[0] in wanted)
    }


def forget_knowledge(
    collection: Collection, cited: Ids[str], whole: TurnFilter | None, *, among: tuple[Ids[str], TurnFilter]
) -> dict[str, int]:
    """Drop what was made from turns, and all knowledge and threads of a scope that is forgotten whole.

    Args:
        collection: whose it is.
        cited: ids of the turns.
        whole: the scope, if all of it is forgotten; people have given way to their conversations.
        among: ids of turns that may be gone already, or anybody's, and a scope: what was made from them is dropped
            where it is within that.
    """
    turn_ids, scope = among

    def change(journal: Journal) -> tuple[list[str | None], int]:
        dropped, threads = journal.unteach_citing(cited), 0
        if turn_ids and not scope.allows_all:
            places = {place for place in journal.places() if is_within(place, scope)}
            dropped += journal.unteach_citing(turn_ids, places)
        for place in journal.places() if whole is not None else ():
            if whole is not None and is_within(place, whole):
                dropped, threads = dropped + journal.unteach(place), threads + journal.clear_thread(place)
        return dropped, threads

    dropped, threads = collection.journal.drop(change)
    collection.knowledge.forget_vectors(dropped)
    return {where: count for where, count in (("knowledge", len(dropped)), ("threads", threads)) if count}


def forget_entry(collection: Collection, places: Ids[str], key: str) -> bool:
    """Forget what a key has in some places; see :meth:`Knowledge.forget`."""
    with collection.saver.kept_still(LONGEST_WRITE) if collection.saver else nullcontext():
        dropped = [place for place in places if collection.knowledge.unteach(place, key)]
        _finish_forgetting_knowledge(collection)
    return bool(dropped)


def forget_thread(collection: Collection, place: str) -> int:
    """Forget the messages of a thread; returns how many."""
    with collection.saver.kept_still(LONGEST_WRITE) if collection.saver else nullcontext():
        count = collection.journal.drop(lambda journal: journal.clear_thread(place))
        _finish_forgetting_knowledge(collection)
    return count


def _finish_forgetting_knowledge(collection: Collection) -> None:
    if collection.place is None:
        return
    with _finished_later(collection):
        erase_knowledge(collection.place)
        if remains := _wait_for_empty_log(collection):
            raise StoreError(f"What was forgotten is in the journal's log: {remains['journal']}.")


def _erase(collection: Collection, turn_ids: Ids[str] = ()) -> dict[str, int]:
    """Take what was forgotten out of the files, and what nobody knows of any more but damaged ones may hold."""
    if collection.place is None or collection.saver is None:
        return {}
    forgotten = collection.journal.read(lambda journal: journal.forgotten())
    removed = erase(collection.place, forgotten.union(turn_ids))
    collection.saver.lost(removed["file"])
    return removed


def _remains(told: Mapping[str, int]) -> dict[str, str]:
    """Tell where forgotten text can still be read, and why."""
    remains = {}
    if (left := told.get("export_files_left", 0)) > 0:
        remains["exports"] = f"{left} exported files can't be read or written just now; forget the turns again later"
    return remains


def _wait_for_empty_log(collection: Collection) -> dict[str, str]:
    """Empty the journal's log; tell why forgotten text can still be read in it, if it can."""
    give_up_at = time.monotonic() + PATIENCE
    while collection.place is not None:
        try:
            if collection.journal.drop(lambda journal: journal.finish_forgetting()):
                break
        except JournalError:
            return {"journal": "it can't be written just now; its log is emptied as soon as that works"}
        if time.monotonic() > give_up_at:
            return {"journal": "another process is reading it; its log is emptied as soon as that has ended"}
        time.sleep(PAUSE)
    return {}


def tell_what_others_forgot(collection: Collection) -> float | None:
    """Let the listeners know of turns that other processes have forgotten."""
    if collection.follower is not None and (lost := collection.follower.take_lost()):
        collection.listeners.tell(lost)
    return None


def clear(collection: Collection) -> None:
    """Drop all turns, from memory and from the files; those that are just being embedded too.

    Raises:
        StoreError: the files can't be written just now. What is not forgotten yet is said.
    """
    saver = collection.saver
    with saver.kept_still() if saver else nullcontext():
        with collection.changing:
            collection.did([collection.journal.drop(lambda journal: journal.clear())])
            collection.epoch += 1
            collection.store.clear()
        with _finished_later(collection):
            if saver is not None:
                saver.remove_files(collection.journal.active)
            if remains := _wait_for_empty_log(collection):
                raise StoreError(f"What was forgotten is in the journal's log: {remains['journal']}.")
    collection.tell()


@contextmanager
def _finished_later(collection: Collection) -> Iterator[None]:
    """Let the worker go on with what can't be finished now."""
    try:
        yield
    finally:
        if collection.saver is not None:
            collection.wake()
