"""What a model calls while it is asked about a record: whether it may, the call itself, and what it is told of it."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from sqlalchemy.exc import StatementError

from ffai.chat.flow import Failed, Flow
from ffai.chat.reply import ToolCall
from ffai.objects.asking.payload import payload_of
from ffai.objects.asking.public import public_value
from ffai.objects.asking.scrubber import Scrubber
from ffai.objects.asking.tools import Refused, Tool, tools_of
from ffai.objects.steps import Step, WithRecord

logger = logging.getLogger(__name__)

CallTools = Literal["none", "read_only", "all"]
"""Which methods of a record a model may call."""

_ERROR_LENGTH = 2_000
"""Characters of an exception that a model is told."""
_TELLING = ("description", "default", "const", "enum", "examples")
"""Keys of a schema under which a method says what it likes."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a model called, and what it was told of it.

    Examples:
        >>> ToolRun("words", {}, result=7).content
        '7'
    """

    name: str
    arguments: Mapping[str, Any] | str
    """As the model wrote them; text where they are no JSON object."""
    result: Any = None
    """What the method gave, in its public form."""
    error: str | None = None
    """Why there is no result: it raised, or was not called at all."""

    @property
    def content(self) -> str:
        """What the model is told, as JSON."""
        return _json(self.result if self.error is None else {"error": self.error})


@dataclass(frozen=True)
class Toolbox:
    """The methods of one record that a model may call now.

    Examples:
        >>> from ffai.objects.steps import Place
        >>> from ffai.objects.asking.tools import ai_tool
        >>> class Article(dict):
        ...     @ai_tool(read_only=True)
        ...     def words(self) -> int:
        ...         return 7
        >>> box = Toolbox(Article(), "read_only", Scrubber())
        >>> Place(None).run(box.run(ToolCall("call_1", "words", "{}"))).content
        '7'
    """

    record: object
    mode: CallTools
    scrubber: Scrubber = field(repr=False)
    max_length: int | None = None
    """Characters of a result that a model is told."""

    @property
    def offered(self) -> list[Tool]:
        """The methods that may be called."""
        if self.mode == "none":
            return []
        return [tool for tool in tools_of(type(self.record)).values() if tool.read_only or self.mode == "all"]

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """What a model is told about them, without secrets."""
        return [self._scrubbed(tool.definition) for tool in self.offered]

    def run(self, call: ToolCall) -> Flow[Step, ToolRun]:
        """Make a call that a model asks for. An exception of the method is told to the model, and goes no further."""
        given = _given(call.arguments)
        try:
            tool = self._tool(call.name)
            arguments = tool.read(call.arguments)
        except Refused as refused:
            return ToolRun(call.name, given, error=self._error(str(refused)))
        outcome = yield WithRecord(self.record, partial(tool.call, self.record, arguments))
        if inspect.isawaitable(outcome):
            if inspect.iscoroutine(outcome):
                outcome.close()
            error = f"{tool.name} is asynchronous, and can't be called in a call that waits."
            return ToolRun(call.name, given, error=error)
        if not isinstance(outcome, Failed):
            outcome = yield WithRecord(self.record, partial(self._public, outcome))
        if isinstance(outcome, Failed):
            kind = type(outcome.error).__name__
            logger.warning("%s.%s, called by a model, raised %s.", type(self.record).__name__, tool.name, kind)
            return ToolRun(call.name, given, error=self._error(f"{kind}: {_message(outcome.error)}"))
        return ToolRun(call.name, given, result=outcome)

    def _tool(self, name: str) -> Tool:
        offered = {tool.name: tool for tool in self.offered}
        if name in offered:
            return offered[name]
        if name in tools_of(type(self.record)):
            raise Refused(f"{name} may not be called now: it is not known to change nothing.")
        raise Refused(f"There is no tool {name!r:.80}; there are {', '.join(offered) or 'none'}.")

    def _public(self, value: Any) -> Any:
        self.scrubber.note(self.record)  # the method may have changed a secret
        shown = public_value(value, self.scrubber)
        if self.max_length is None or len(_json(shown)) <= self.max_length:
            return shown
        cut = payload_of(shown if isinstance(shown, dict) else {"result": shown}, self.max_length)
        return json.loads(cut or "null")

    def _error(self, text: str) -> str:
        self.scrubber.note(self.record)
        return self.scrubber.text(text)[:_ERROR_LENGTH]

    def _scrubbed(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self._scrubbed(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        return {
            key: self.scrubber.clean(value) if key in _TELLING else self._scrubbed(value)
            for key, value in schema.items()
        }


def _message(error: Exception) -> str:
    """Return what an exception says; of a database's, not the values that were in the statement."""
    return str(error.orig) if isinstance(error, StatementError) and error.orig is not None else str(error)


def _given(arguments: str) -> Mapping[str, Any] | str:
    try:
        given = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments
    return given if isinstance(given, dict) else arguments


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
