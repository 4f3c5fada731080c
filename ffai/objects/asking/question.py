"""A question about one record, ready to be put: nothing of it needs the record's session any more, but its methods."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ffai.chat.conversation import Message
from ffai.chat.message import member
from ffai.errors import ArgumentTypeError
from ffai.objects.asking.ask_options import AskOptions
from ffai.objects.asking.messages import PROMPT_VERSION, data_message
from ffai.objects.asking.payload import payload_of
from ffai.objects.asking.public import public_of
from ffai.objects.asking.record_fields import is_record
from ffai.objects.asking.scrubber import Scrubber
from ffai.objects.asking.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be asked about a record, and what the model is shown and may call."""

    prompt: str
    payload: str | None
    """The record's public form as JSON; ``None`` where the model is not shown it."""
    toolbox: Toolbox
    options: Mapping[str, Any]
    """For the client."""

    def messages(self) -> list[Message]:
        """Return what the model is told first."""
        return [] if self.payload is None else [data_message(self.payload)]

    def key(self, method: str, client: object) -> str:
        """Return what the answer can be kept under: another one for whatever may change the answer.

        Examples:
            >>> options = AskOptions(include_data=True, max_data_length=None, call_tools="none")
            >>> question = question_about({"title": "Tea"}, "Name the topic.", options, {})
            >>> len(question.key("do", None))
            64
        """
        asked = {
            "version": PROMPT_VERSION,
            "method": method,
            "model": self.options.get("model") or member(client, "model"),
            "system": member(client, "system_instructions"),
            "options": self.options,
            "prompt": self.prompt,
            "data": self.payload,
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=repr).encode()).hexdigest()


def question_about(record: object, prompt: str, options: AskOptions, own: Mapping[str, Any]) -> Question:
    """Make a question, reading the record.

    Args:
        record: see `public_of`.
        prompt: what is asked.
        options: of the call.
        own: options for the client that the call gives itself.

    Raises:
        ArgumentTypeError: it is no record; and as `public_of`.

    Examples:
        >>> options = AskOptions(include_data=True, max_data_length=None, call_tools="none")
        >>> print(question_about({"title": "Tea"}, "Name the topic.", options, {}).payload)
        {
          "title": "Tea"
        }
    """
    if not is_record(record):
        raise ArgumentTypeError(
            "A record is of a class mapped by SQLAlchemy, a pydantic model, a dataclass or a mapping, not "
            f"{type(record).__name__}."
        )
    scrubber = Scrubber(record)
    payload = None
    if options.include_data:
        payload = payload_of(public_of(record, scrubber=scrubber), options.max_data_length)
    toolbox = Toolbox(record, options.call_tools, scrubber, options.max_data_length)
    return Question(prompt, payload, toolbox, {**options.model, **own})
