"""Reading LoCoMo: long conversations of two people, and questions with the messages that answer them.

Source: Maharana et al., *Evaluating Very Long-Term Conversational Memory of LLM Agents* (2024). Its file,
``locomo10.json``, is under CC BY-NC 4.0: it may be measured with, and is no part of this repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

FILE = "locomo10.json"
ADVERSARIAL = "adversarial"
"""The kind of questions that ask for what was not said; their messages only come close."""
_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}


class NotLocomoError(ValueError):
    """A file is not in LoCoMo's form."""

    def __init__(self, file: Path, trouble: str) -> None:
        super().__init__(f"{str(file)!r} is not in the form of LoCoMo's {FILE}: {trouble}.")
        self.file, self.trouble = file, trouble


@dataclass(frozen=True)
class Message:
    """What one of the two said at once."""

    id: str
    speaker: int
    """0 or 1."""
    text: str
    session: int
    said_at: float
    """When its session began, in seconds since the epoch."""


@dataclass(frozen=True)
class Question:
    """A question about a conversation."""

    text: str
    kind: str
    expected: frozenset[str]
    """The messages that answer it; at least one."""


@dataclass(frozen=True)
class Conversation:
    """All that two people said to each other, in order."""

    name: str
    speakers: tuple[str, str] | None
    """Their names; ``None`` where they are not to be known."""
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]


def find(place: Path) -> Path:
    """Find LoCoMo's file.

    Args:
        place: the file, or a folder that has it, itself or in a folder ``locomo``.

    Raises:
        FileNotFoundError: it is not there; tells where it was looked for.
    """
    places = [place] if place.suffix == ".json" else [place / FILE, place / "locomo" / FILE]
    for file in places:
        if file.is_file():
            return file
    looked = " and ".join(repr(str(file)) for file in places)
    raise FileNotFoundError(
        f"There is no {looked}. LoCoMo is at https://github.com/snap-research/locomo (CC BY-NC 4.0)."
    )


def read(file: Path) -> list[Conversation]:
    """Read all conversations. Questions without a message that answers them are left out.

    Raises:
        NotLocomoError: the file has another form; tells where.
        OSError: it can't be read.
    """
    try:
        samples = _SAMPLES.validate_json(file.read_bytes())
        return [_conversation(sample) for sample in samples]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise NotLocomoError(file, f"{where}: {first['msg']}" if where else first["msg"]) from error
    except _OtherFormError as error:
        raise NotLocomoError(file, str(error)) from error


class _OtherFormError(Exception):
    """What pydantic can't tell."""


class _Said(BaseModel):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None
    """What is to be seen on a picture that was sent along."""


class _Asked(BaseModel):
    question: str
    category: int
    evidence: list[str] = []


class _Sample(BaseModel):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_Asked]


_SAMPLES = TypeAdapter(list[_Sample])
_SESSION = TypeAdapter(list[_Said])


def _conversation(sample: _Sample) -> Conversation:
    names = (sample.conversation.get("speaker_a"), sample.conversation.get("speaker_b"))
    if not (isinstance(names[0], str) and isinstance(names[1], str)):
        raise _OtherFormError(f"{sample.sample_id} has no 'speaker_a' and 'speaker_b'")
    speakers = (names[0], names[1])
    messages = tuple(_messages(sample, speakers))
    known = {message.id for message in messages}
    return Conversation(sample.sample_id, speakers, messages, tuple(_questions(sample, known)))


def _messages(sample: _Sample, speakers: tuple[str, str]) -> Iterator[Message]:
    last = max((int(key[8:]) for key in sample.conversation if re.fullmatch(r"session_\d+", key)), default=0)
    if not last:
        raise _OtherFormError(f"{sample.sample_id} has no 'session_1'")
    for number in range(1, last + 1):
        said = _SESSION.validate_python(sample.conversation.get(f"session_{number}", []))
        said_at = _time(sample, number) if said else 0.0
        for message in said:
            if message.speaker not in speakers:
                raise _OtherFormError(f"{sample.sample_id} {message.dia_id} is by {message.speaker!r}, a third one")
            picture = f" [shares {message.blip_caption}]" if message.blip_caption else ""
            speaker = speakers.index(message.speaker)
            yield Message(message.dia_id, speaker, message.text + picture, number, said_at)


def _time(sample: _Sample, session: int) -> float:
    written = sample.conversation.get(f"session_{session}_date_time")
    try:
        return datetime.strptime(str(written), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        told = f"{sample.sample_id} session_{session}_date_time is {written!r}, not like '1:56 pm on 8 May, 2023'"
        raise _OtherFormError(told) from None


def _questions(sample: _Sample, known: set[str]) -> Iterator[Question]:
    for number, asked in enumerate(sample.qa):
        if asked.category not in _KINDS:
            raise _OtherFormError(f"{sample.sample_id} qa.{number}.category is {asked.category}, not 1 to 5")
        if expected := known.intersection(cited(asked.evidence)):
            yield Question(asked.question, _KINDS[asked.category], frozenset(expected))


_CITED = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)(?:\s*-\s*D\s*:?\s*\d+\s*:\s*(\d+))?")


def cited(evidence: Iterable[str]) -> list[str]:
    """Return the ids of the messages that a question's evidence names, however they are written.

    Examples:
        >>> cited(["D8:6; D9:17", "D:11:26", "D30:05", "D2:3-D2:5"])
        ['D8:6', 'D9:17', 'D11:26', 'D30:5', 'D2:3', 'D2:4', 'D2:5']
    """
    found = [match.groups() for text in evidence for match in _CITED.finditer(text)]
    return [
        f"D{int(session)}:{message}"
        for session, first, last in found
        for message in range(int(first), int(last or first) + 1)
    ]
