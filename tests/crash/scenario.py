"""Short lives of a collection, in which everything happens that changes its files. Each tells what it did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ffai.core.memory import Memory
from ffai.errors import StoreError
from ffai.testing import FakeEmbedder
from tests.crash.evidence import where
from tests.crash.ledger import open_on

Tell = Callable[..., object]
BeforeClose = Callable[[Memory], object]


class Life:
    """One program that uses a collection.

    Args:
        folder: where the collection is.
        tell: is called with what happened, and the words of the turns it happened to.
    """

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder, self.tell = folder, tell
        self.said: list[str] = []

    def remember(self, memory: Memory, count: int) -> list[str]:
        """Remember turns, each with a word of its own; gives the words."""
        words = [f"word{len(self.said) + number}end" for number in range(count)]
        for word in words:
            self.said.append(word)
            self.tell("accepted", word, memory.remember(f"What is {word}?", f"It is {'x' * 50}."))
        return words

    def forget(self, memory: Memory, words: list[str], turn_ids: list[str]) -> None:
        """Forget turns. Where that says it is done, they are nowhere; where it fails half-way, it is done later."""
        self.tell("forgetting", *words)
        try:
            done = memory.forget(turn_ids)
        except StoreError as error:
            self.tell("kept" if "Nothing was forgotten" in str(error) else "forgot", *words)
            return
        if not done.remains:
            assert not (found := where(self.folder, words)), f"forgotten, they said, but {found}"
        self.tell("forgot", *words)

    def clear(self, memory: Memory) -> None:
        """Forget everything."""
        self.tell("forgetting", *self.said)
        try:
            memory.clear()
        except StoreError as error:
            self.tell("kept" if "Nothing was forgotten" in str(error) else "forgot", *self.said)
            return
        assert not (found := where(self.folder, self.said)), f"cleared, they said, but {found}"
        self.tell("forgot", *self.said)


def forgetting(folder: Path, tell: Tell, before_close: BeforeClose = id) -> None:
    """Remember, embed, save, forget, change the model, twice, and open again with the first model."""
    accepted: dict[str, str] = {}

    def note(what: str, *words: str) -> None:
        if what == "accepted":
            accepted[words[0]] = words[1]
        tell(what, *words)

    def forget(words: list[str]) -> None:
        life.forget(memory, words, [accepted[word] for word in words])

    life = Life(folder, note)
    memory = open_on(folder)
    first = life.remember(memory, 3)
    memory.flush()
    second = life.remember(memory, 2)
    memory.flush()
    forget(first[1:2])
    memory.reindex(FakeEmbedder(16, model="fake/16"))
    memory.flush()
    forget(life.remember(memory, 2)[:1])
    before_close(memory)
    memory.close()
    memory = open_on(folder)
    memory.flush()
    life.remember(memory, 1)
    forget([first[0], second[0]])
    before_close(memory)
    memory.close()


def clearing(folder: Path, tell: Tell, before_close: BeforeClose = id) -> None:
    """Remember, save twice, forget everything, go on."""
    life = Life(folder, tell)
    memory = open_on(folder)
    for _ in range(2):
        life.remember(memory, 2)
        memory.flush()
    life.remember(memory, 1)
    life.clear(memory)
    life.remember(memory, 2)
    before_close(memory)
    memory.close()


LIVES: dict[str, Callable[[Path, Tell, BeforeClose], None]] = {"forgetting": forgetting, "clearing": clearing}
