"""Forgetting turns: in memory, in the journal, in the files, and in what other processes hold of them."""

from __future__ import annotations

import time
from collections.abc import Collection as Ids
from contextlib import nullcontext

from ffai.core.embeddings.protocol import forget_texts
from ffai.core.memory.collection import Collection
from ffai.core.memory.erasing import erase
from ffai.core.memory.identity import is_content_id
from ffai.core.memory.journal import Journal
from ffai.core.memory.saving import FilesInUseError
from ffai.core.memory.status import ForgetResult
from ffai.core.memory.vectorise import texts_and_parts

PATIENCE = 5.0
"""Seconds that readers of the journal are waited for, until nothing of what was dropped is left in its log."""
PAUSE = 0.05
AGAIN = 1.0
"""Seconds between two tries to finish what was broken off."""


def forget(collection: Collection, turn_ids: Ids[str]) -> ForgetResult:
    """Forget turns by their ids; see :meth:`Memory.forget`."""
    with collection.saver.kept_still() if collection.saver else nullcontext():
        with collection.changing:
            collection.catch_up()
            ids = _known(collection, turn_ids)
            texts = [text for turn, _ in collection.store._turns_of(ids) for text in texts_and_parts(turn.text)]
            removed = _drop(collection, ids)
        removed["cache"] = forget_texts(collection.embedder, texts)
        removed |= _erase(collection, turn_ids)
        remains = _remains(collection)  # before others may forget: what they have not erased is not finished here
    collection.tell()
    told = collection.listeners.tell({*turn_ids, *ids})  # also of unknown ones: an earlier try may have failed here
    if left := told.get("export_files_left", 0):
        remains["exports"] = f"{left} exported files can't be read or written just now; forget the turns again later"
    return ForgetResult(tuple(sorted(ids)), removed | told, remains)


def _drop(collection: Collection, ids: set[str]) -> dict[str, int]:
    """Drop turns from the journal and from memory."""
    if not ids:
        return {}
    waiting, journaled = collection.journal.drop(lambda journal: journal.forget(ids))
    return {"memory": collection.store._drop(ids), "waiting": waiting, "journal": journaled}


def _known(collection: Collection, turn_ids: Ids[str]) -> set[str]:
    """Return those turns that are here, and those of the same content as one of them."""
    wanted, here = set(turn_ids), {*collection.store._ids(), *collection.journal.read(lambda journal: journal.ids())}
    return {
        turn_id
        for turn_id in here
        if turn_id in wanted or (is_content_id(turn_id) and turn_id.partition("-")[0] in wanted)
    }


def _erase(collection: Collection, turn_ids: Ids[str] = ()) -> dict[str, int]:
    """Take what was forgotten out of the files, and what nobody knows of any more but damaged ones may hold."""
    if collection.place is None or collection.saver is None:
        return {}
    forgotten = collection.journal.read(lambda journal: journal.forgotten())
    removed = erase(collection.place, forgotten.union(turn_ids))
    collection.saver.lost(removed["file"])
    return removed


def _remains(collection: Collection) -> dict[str, str]:
    """Empty the journal's log; tell where forgotten text can still be read, and why."""
    if collection.place is None:
        return {}
    give_up_at = time.monotonic() + PATIENCE
    while not collection.journal.drop(_empty_log):
        if time.monotonic() > give_up_at:
            collection.wake()
            return {"journal": "another process is reading it; its log is emptied as soon as that has ended"}
        time.sleep(PAUSE)
    return {}


def _empty_log(journal: Journal) -> bool:
    done = journal.checkpoint(truncate=True)
    if done:
        journal.finish_forgetting()
        journal.checkpoint(truncate=True)
    return done


def finish_forgetting(collection: Collection) -> float | None:
    """Go on with what was broken off: by the end of a process, a full disk, or a reader of the journal.

    Returns:
        In how many seconds to try again; ``None`` if nothing is left to do.
    """
    if collection.saver is None or not collection.journal.read(lambda journal: journal.fact("forgetting")):
        return None
    try:
        with collection.saver.kept_still(patience=0.0):
            collection.saver.remove_cleared(collection.journal.active)
            _erase(collection)
            done = collection.journal.drop(_empty_log)
    except FilesInUseError:
        return AGAIN
    return None if done else AGAIN


def tell_what_others_forgot(collection: Collection) -> float | None:
    """Let the listeners know of turns that other processes have forgotten."""
    if collection.follower is not None and (lost := collection.follower.take_lost()):
        collection.listeners.tell(lost)
    return None


def clear(collection: Collection) -> None:
    """Drop all turns, from memory and from the files; those that are just being embedded too.

    Raises:
        StoreError: the files can't be written just now.
    """
    with collection.saver.kept_still() if collection.saver else nullcontext(), collection.changing:
        collection.did([collection.journal.drop(lambda journal: journal.clear())])
        collection.epoch += 1
        if collection.saver:
            collection.saver.remove_files()
            collection.journal.drop(lambda journal: journal.finish_forgetting())
        collection.store.clear()
    collection.tell()
