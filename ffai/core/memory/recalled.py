"""Texts that memory handed out lately: where one comes back in a prompt, it is not remembered as something new."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable

from ffai._fork import held_over_forks

MOST = 2000
"""Texts that are known; the one that was handed out first goes first."""
MOST_CHARS = 10_000_000
"""Characters that these have together: each prompt holds the whole of what was recalled once more."""
SHORTEST = 12
"""Characters: a shorter text may be said again by chance."""
HISTORY, CONTEXT, RULE, QUESTION = "Previous conversation:", "Context from memory:", "---", "Question: "
"""What stands around recalled text in a prompt that asks for an answer from memory."""

_WRAPPED = re.compile(rf"\s*(?:{HISTORY}\s*{RULE}\s*)?(?:{CONTEXT}\s*{RULE}\s*)?{QUESTION}(.*)", re.DOTALL)
_MARK = " \t>*-\u2022\"'\u201c\u201d`"
"""What may stand around a line that is quoted."""
_LINE_END = re.compile(r"\r?\n|\Z")

Key = tuple[str | None, str]
"""For whom it was recalled, and the text."""


class Recalled:
    r"""What was handed out, for any number of threads.

    Examples:
        >>> recalled = Recalled()
        >>> recalled.note(["Where is the key?\nUnder the mat."])
        >>> recalled.without("Known:\nWhere is the key?\nUnder the mat.\n\nAnd the spare one?")
        'Known:\n\nAnd the spare one?'
    """

    def __init__(self) -> None:
        self._lock = held_over_forks(threading.Lock())
        self._texts: OrderedDict[Key, str] = OrderedDict()
        """What each stands for."""
        self._chars = 0
        """How many characters they have together."""
        self._beginning: dict[str, set[Key]] = {}
        """The same by their first lines: to look for each text in a prompt takes 100 times as long."""

    def note(self, texts: Iterable[str], actor_id: str | None = None, *, instead: str = "") -> None:
        """Note texts that are handed out.

        Args:
            texts: the texts.
            actor_id: whose memories were asked for; ``None`` for everybody's.
            instead: what each of them stands for.
        """
        with self._lock:
            for text in texts:
                if len(text) >= SHORTEST:
                    self._keep((actor_id, text), instead)
            while len(self._texts) > MOST or self._chars > MOST_CHARS:
                self._drop(self._texts.popitem(last=False)[0])

    def _keep(self, key: Key, instead: str) -> None:
        if key not in self._texts:
            self._chars += len(key[1])
            self._beginning.setdefault(_first_line(key[1]), set()).add(key)
        self._texts[key] = instead
        self._texts.move_to_end(key)

    def _drop(self, key: Key) -> None:
        self._chars -= len(key[1])
        first = _first_line(key[1])
        self._beginning[first].discard(key)
        if not self._beginning[first]:
            del self._beginning[first]

    def clear(self) -> None:
        """Know of none: something was forgotten, and who says it again says something new."""
        with self._lock:
            self._texts.clear()
            self._beginning.clear()
            self._chars = 0

    def without(self, prompt: str, actor_id: str | None = None) -> str:
        """Return what is new in a prompt: without the texts that were handed out, where they fill whole lines.

        Args:
            prompt: what is said.
            actor_id: who says it; what others recalled counts as new.

        Returns:
            What is left, without what frames recalled text; the prompt itself where nothing would be.
        """
        if not self._texts:
            return prompt
        lines = {_bare(line) for line in prompt.split("\n")}
        with self._lock:
            begun = [key for line in lines for key in self._beginning.get(line, ()) if key[0] in (None, actor_id)]
            known = [(text, self._texts[whose, text]) for whose, text in begun]
        left = prompt
        for text, instead in sorted(known, key=lambda pair: -len(pair[0])):
            if text in left:
                left = _cut(left, text, instead)
        if left == prompt:
            return prompt
        framed = _WRAPPED.fullmatch(left)
        return (framed[1] if framed else left).strip() or prompt


def _first_line(text: str) -> str:
    return _bare(text.partition("\n")[0])


def _bare(line: str) -> str:
    """Return a line without what may stand around it."""
    return line.strip(_MARK + "\r")


def _cut(prompt: str, text: str, instead: str) -> str:
    """Put something else in the place of a text wherever that fills whole lines."""
    pieces, at = [], 0
    while (found := prompt.find(text, at)) >= 0:
        start, end = found, found + len(text)
        while start > at and prompt[start - 1] in _MARK:
            start -= 1
        while end < len(prompt) and prompt[end] in _MARK:
            end += 1
        line_ends = _LINE_END.match(prompt, end)
        if line_ends is None or (start > 0 and prompt[start - 1] != "\n"):
            pieces.append(prompt[at : found + len(text)])
            at = found + len(text)
        else:
            pieces += [prompt[at:start], instead + line_ends[0] if instead else ""]
            at = line_ends.end()
            if at == len(prompt):
                break
    return "".join([*pieces, prompt[at:]])
