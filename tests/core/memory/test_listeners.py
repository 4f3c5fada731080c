import gc
import weakref

from ffai import FFAI, Memory
from ffai.core.memory.listeners import listeners_at
from ffai.core.memory.place import Place
from ffai.testing import FakeClient, FakeEmbedder


class Notes:
    """Keeps a note on each turn."""

    def __init__(self, *turn_ids):
        self.kept = set(turn_ids)

    def forget(self, turn_ids):
        gone = self.kept & set(turn_ids)
        self.kept -= gone
        return {"notes": len(gone)}


def on_disk(folder):
    memory = Memory(FakeEmbedder())
    memory.persist_to(folder, "turns")
    return memory


def test_all_who_keep_something_of_a_turn_are_told_and_counted_together(tmp_path):
    memory, listeners = on_disk(tmp_path), listeners_at(Place.at(tmp_path, "turns"))
    mine, yours = Notes("a", "b"), Notes("a")
    memory.when_forgotten(mine.forget)
    memory.when_forgotten(yours.forget)
    memory.when_forgotten(lambda turn_ids: {"drafts": len(turn_ids)})
    assert listeners.tell(["a"]) == {"notes": 2, "drafts": 1}
    assert (mine.kept, yours.kept) == ({"b"}, set())
    assert listeners.tell(["a"]) == {"notes": 0, "drafts": 1}
    memory.close()


def test_who_is_gone_is_not_kept_alive(tmp_path):
    memory, listeners = on_disk(tmp_path), listeners_at(Place.at(tmp_path, "turns"))
    notes = Notes("a")
    memory.when_forgotten(notes.forget)
    gone = weakref.ref(notes)
    del notes
    gc.collect()
    assert gone() is None
    assert listeners.tell(["a"]) == {}
    memory.close()


def test_memories_of_the_same_files_share_their_listeners_even_when_one_is_closed(tmp_path):
    notes = [Notes("a") for _ in range(3)]
    first = Memory(FakeEmbedder())
    first.when_forgotten(notes[0].forget)
    first.persist_to(tmp_path, "turns")
    second = on_disk(tmp_path)
    second.when_forgotten(notes[1].forget)
    first.close()
    second.close()
    third = on_disk(tmp_path)
    third.when_forgotten(notes[2].forget)
    assert listeners_at(Place.at(tmp_path, "turns")).tell(["a"]) == {"notes": 3}
    third.close()


def test_a_wrapper_forgets_with_its_memory(tmp_path):
    """Two wrappers around the same files, and each one's exported histories."""
    config = {"memory": {"persist_dir": str(tmp_path / "memory"), "collection_name": "turns"}}
    talks = [
        FFAI(
            FakeClient(), memory=Memory(FakeEmbedder()), memory_persist=True, config=config,
            persist_dir=tmp_path / "exports", persist_name=name,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    for ffai in talks:
        ffai.generate_response("MARKER")
        ffai.generate_response("Hello")
        ffai.history.persist_all_histories()
    turn_ids = [ffai.history.raw[0]["turn_id"] for ffai in talks]
    told = listeners_at(Place.at(tmp_path / "memory", "turns")).tell(turn_ids)
    exports = {"exported_rows": 6, "export_files_left": 0}
    assert told == {"history_calls": 2, "permanent_turns": 4, "client_conversations": 0, **exports}
    for ffai in talks:
        assert [call["prompt"] for call in ffai.history.raw] == ["Hello"]
        assert ffai.history.search("MARKER", wait=None)  # memory itself is none of their business
        ffai.close()
