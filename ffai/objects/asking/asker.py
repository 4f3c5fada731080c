"""Asking a model about records: whether something is true of one, to do something with it, to describe it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, MutableMapping
from functools import partial
from typing import Any

from ffai.chat.calling import check_client
from ffai.chat.flow import Failed, Flow
from ffai.chat.reply import ChatReply, TokenUsage
from ffai.core.arguments import check_flag, check_text, check_whole
from ffai.errors import ConfigError, MalformedReply
from ffai.objects.asking.answer_cache import AnswerCache
from ffai.objects.asking.ask_options import AskOptions
from ffai.objects.asking.exchange import Exchange
from ffai.objects.asking.messages import description_prompt, repair_prompt, task_prompt, verdict_prompt
from ffai.objects.asking.payload import check_budget
from ffai.objects.asking.question import Question, question_about
from ffai.objects.asking.reply_text import ReplyText
from ffai.objects.asking.together import Together
from ffai.objects.asking.toolbox import CallTools
from ffai.objects.asking.verdict import read_verdict
from ffai.objects.steps import AsyncPlace, Place, Step, WithRecord, given

_AS_JSON = {"response_format": {"type": "json_object"}}
_NO_TOKENS = TokenUsage(0, 0, 0)


class Asker:
    """Asks a model about records.

    A record is of a class mapped by SQLAlchemy (SQLModel too), a pydantic model, a dataclass or a mapping. The model is
    shown its public form (see `public_of`), in a message of its own, beside the client's own conversation. It may call
    methods of the record that are marked with `ai_tool`.

    Each call takes these options; all others go to the client with the question (``model``, ``temperature``,
    ``max_tokens``, ``system_instructions``, ...):

    - ``include_data``: ``False`` shows the model nothing of the record.
    - ``max_data_length``: characters of the record that it is shown, at least 1; ``None`` for all. What a method gives
      is cut there too.
    - ``call_tools``: which methods it may call: ``"none"``, ``"read_only"`` or ``"all"``.

    Every method has an async twin with an ``a`` in front, which any number of tasks may await; the others may be called
    by any number of threads.

    Args:
        llm: any chat client; without one, each call raises.
        max_data_length: what a call has that names none.
        tool_rounds: how often a model may call methods before it has to answer, at least 1.
        cache: keeps answers under a text made of all that may change them, where the model could call nothing.

    Raises:
        ArgumentTypeError: ``llm`` is no client, ``cache`` no mapping, or a number none.
        InvalidArgumentError: a number is below 1.

    Examples:
        >>> from ffai.testing import FakeClient
        >>> asker = Asker(FakeClient(['{"result": true}', "Tea, from leaf to cup."]))
        >>> asker.is_({"title": "Tea"}, "is about a drink")
        True
        >>> asker.describe({"title": "Tea"}, max_tokens=50)
        'Tea, from leaf to cup.'
    """

    def __init__(
        self,
        llm: Any,
        *,
        max_data_length: int | None = 100_000,
        tool_rounds: int = 5,
        cache: MutableMapping[str, Any] | None = None,
    ) -> None:
        if llm is not None:
            check_client(llm)
        self._llm, self._cache = llm, AnswerCache(cache)
        self._max_data_length = check_budget(max_data_length)
        self._rounds = check_whole("tool_rounds", tool_rounds, least=1)
        self._lock = threading.Lock()
        self._usage = _NO_TOKENS

    @property
    def usage(self) -> TokenUsage:
        """Tokens of all replies so far, as far as the client told them."""
        return self._usage

    def is_(self, record: object, criteria: str, **options: Any) -> bool:
        """Say whether something is true of a record.

        Where the answer is neither yes nor no, the model is told so and asked once more. Methods that are not marked
        ``read_only`` are not called, unless ``call_tools="all"``.

        Raises:
            ConfigError: there is no client.
            ArgumentTypeError, InvalidArgumentError: an argument can't be used; ``tools`` and ``response_format`` can't
                be given.
            MalformedReply: the second answer was neither yes nor no too.
            ToolLoopLimit: the model went on calling methods.
            Exception: whatever the client raises.
        """
        return Place(None).run(self.is_flow(record, criteria, **options))

    async def ais_(self, record: object, criteria: str, **options: Any) -> bool:
        """The async twin of `is_`."""
        return await AsyncPlace(None).run(self.is_flow(record, criteria, **options))

    def satisfies(self, record: object, criteria: str, **options: Any) -> bool:
        """Another name of `is_`."""
        return self.is_(record, criteria, **options)

    async def asatisfies(self, record: object, criteria: str, **options: Any) -> bool:
        """The async twin of `satisfies`."""
        return await self.ais_(record, criteria, **options)

    def do(self, record: object, instructions: str, **options: Any) -> ReplyText:
        """Return what a model writes when it follows instructions on the basis of a record.

        It may call every method that is marked, and so change the record; nothing is committed here.

        Raises: as for `is_`; here ``response_format`` can be given, and no answer is malformed.
        """
        return Place(None).run(self.do_flow(record, instructions, **options))

    async def ado(self, record: object, instructions: str, **options: Any) -> ReplyText:
        """The async twin of `do`."""
        return await AsyncPlace(None).run(self.do_flow(record, instructions, **options))

    def describe(self, record: object, **options: Any) -> ReplyText:
        """Return a short description of a record, for the people who use the application.

        Raises: as for `do`. Methods that are not marked ``read_only`` are not called, unless ``call_tools="all"``.
        """
        return Place(None).run(self.describe_flow(record, **options))

    async def adescribe(self, record: object, **options: Any) -> ReplyText:
        """The async twin of `describe`."""
        return await AsyncPlace(None).run(self.describe_flow(record, **options))

    def is_many(
        self,
        records: Iterable[object],
        criteria: str,
        *,
        concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Say of each record whether something is true of it. All are read first, then asked about side by side.

        No methods are called. A client without a ``clone()`` that keeps a conversation is asked one after the other.

        Args:
            records: any number.
            criteria: as for `is_`.
            concurrency: how many are asked about at a time.
            return_exceptions: give an error in its record's place. Without it the first one is raised, after all have
                been asked about.
            options: as for `is_`, without ``call_tools``.

        Returns:
            A boolean a record, in their order.

        Raises: as for `is_`.
        """
        flow = self.is_many_flow(
            records, criteria, concurrency=concurrency, return_exceptions=return_exceptions, **options
        )
        return Place(None).run(flow)

    async def ais_many(
        self,
        records: Iterable[object],
        criteria: str,
        *,
        concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """The async twin of `is_many`."""
        flow = self.is_many_flow(
            records, criteria, concurrency=concurrency, return_exceptions=return_exceptions, **options
        )
        return await AsyncPlace(None).run(flow)

    def is_flow(self, record: object, criteria: str, **options: Any) -> Flow[Step, bool]:
        """The steps of `is_`."""
        self._check_client(record)
        ask = self._options(options, "read_only", "response_format")
        prompt = verdict_prompt(check_text("criteria", criteria))
        question = yield from given(WithRecord(record, partial(question_about, record, prompt, ask, _AS_JSON)))
        return (yield from self._judged(question))

    def do_flow(self, record: object, instructions: str, **options: Any) -> Flow[Step, ReplyText]:
        """The steps of `do`."""
        self._check_client(record)
        ask = self._options(options, "all")
        prompt = task_prompt(check_text("instructions", instructions))
        question = yield from given(WithRecord(record, partial(question_about, record, prompt, ask, {})))
        return (yield from self._written("do", question))

    def describe_flow(self, record: object, **options: Any) -> Flow[Step, ReplyText]:
        """The steps of `describe`."""
        self._check_client(record)
        ask = self._options(options, "read_only")
        prompt = description_prompt()
        question = yield from given(WithRecord(record, partial(question_about, record, prompt, ask, {})))
        return (yield from self._written("describe", question))

    def is_many_flow(
        self,
        records: Iterable[object],
        criteria: str,
        *,
        concurrency: int = 8,
        return_exceptions: bool = False,
        **options: Any,
    ) -> Flow[Step, list[Any]]:
        """The steps of `is_many`."""
        records = list(records)
        self._check_client(records[0] if records else self)
        check_whole("concurrency", concurrency, least=1)
        check_flag("return_exceptions", return_exceptions)
        ask = self._options(options, "none", "response_format", "call_tools")
        prompt = verdict_prompt(check_text("criteria", criteria))
        found: list[Any] = []
        for record in records:
            outcome = yield WithRecord(record, partial(question_about, record, prompt, ask, _AS_JSON))
            if isinstance(outcome, Failed) and not return_exceptions:
                raise outcome.error
            found.append(outcome.error if isinstance(outcome, Failed) else outcome)
        places = [at for at, one in enumerate(found) if isinstance(one, Question)]
        verdicts = yield from given(Together([self._judged(found[at]) for at in places], concurrency))
        for at, verdict in zip(places, verdicts, strict=True):
            found[at] = verdict
        for one in found:
            if isinstance(one, BaseException) and not (return_exceptions and isinstance(one, Exception)):
                raise one
        return found

    def _judged(self, question: Question) -> Flow[Step, bool]:
        def judged() -> Flow[Step, bool]:
            exchange = self._exchange(question)
            reply = yield from exchange.ask(question.prompt)
            try:
                return read_verdict(reply.text)
            except MalformedReply as error:
                again = repair_prompt(error.reason)
            reply = yield from exchange.ask(again)
            return read_verdict(reply.text)

        return self._cache.verdict(self._llm, question, judged)

    def _written(self, method: str, question: Question) -> Flow[Step, ReplyText]:
        def written() -> Flow[Step, ReplyText]:
            exchange = self._exchange(question)
            yield from exchange.ask(question.prompt)
            return exchange.text()

        return self._cache.text(method, self._llm, question, written)

    def _exchange(self, question: Question) -> Exchange:
        messages = question.messages()
        return Exchange(self._llm, question.toolbox, question.options, self._rounds, messages, self._note)

    def _options(self, options: dict[str, Any], call_tools: CallTools, *refused: str) -> AskOptions:
        limit = self._max_data_length
        return AskOptions.of(options, max_data_length=limit, call_tools=call_tools, refused=("tools", *refused))

    def _check_client(self, record: object) -> None:
        if self._llm is None:
            raise ConfigError(type(record).__name__, "llm", "there is no model to ask. Give a chat client: llm=...")

    def _note(self, reply: ChatReply) -> None:
        with self._lock:
            self._usage = self._usage + _known(reply.usage)


def _known(usage: TokenUsage | None) -> TokenUsage:
    if usage is None:
        return _NO_TOKENS
    return TokenUsage(usage.input_tokens or 0, usage.output_tokens or 0, usage.total_tokens or 0)
