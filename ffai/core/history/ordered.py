"""The ordered history: the calls by number and by name, with cleaned responses."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ffai.core.history.clean import clean_response, clean_text
from ffai.core.history.interaction import Interaction
from ffai.core.history.log import InteractionLog, key_of
from ffai.core.history.scoped import ScopedLog


class OrderedPromptHistory:
    """The calls in order, found by the name of their prompt. It hands out copies.

    A call without a name is found under its prompt. In what is handed out, ``prompt_name`` is that name and
    ``response`` is the cleaned text; nothing where nothing came back.

    Args:
        log: the calls; a new log by default.

    Examples:
        >>> ordered = OrderedPromptHistory()
        >>> call = ordered.add_interaction("m", "Capital of France?", "Paris", prompt_name="capital")
        >>> ordered.get_latest_responses_by_prompt_names(["capital"])
        {'capital': {'prompt': 'Capital of France?', 'response': 'Paris'}}
    """

    def __init__(self, log: InteractionLog | ScopedLog | None = None) -> None:
        self._log: InteractionLog | ScopedLog = InteractionLog() if log is None else log

    def __len__(self) -> int:
        return len(self._log)

    def add_interaction(
        self,
        model: str,
        prompt: str,
        response: str | None,
        prompt_name: str | None = None,
        history: Sequence[str] | None = None,
    ) -> Interaction:
        """Add a call that succeeded, and return it."""
        return _handed_out(
            self._log.add(
                lambda number: Interaction(
                    sequence_number=number,
                    prompt=prompt,
                    response=response,
                    clean_response=clean_response(response),
                    model=model,
                    timestamp=time.time(),
                    prompt_name=prompt_name,
                    history=None if history is None else tuple(history),
                )
            )
        )

    def get_all_interactions(self) -> list[Interaction]:
        """Return every call, in order."""
        return [_handed_out(call) for call in self._log.all()]

    def get_last_n_interactions(self, n: int) -> list[Interaction]:
        """Return the last ``n`` calls, oldest first."""
        return [_handed_out(call) for call in self._log.last(n)]

    def get_interaction(self, sequence_number: int) -> Interaction | None:
        """Return the call with a number."""
        call = self._log.numbered(sequence_number)
        return None if call is None else _handed_out(call)

    def get_all_prompt_names(self) -> list[str]:
        """Return every name once, first seen first."""
        return self._log.names()

    def get_prompt_name_usage_stats(self) -> dict[str, int]:
        """Return how many calls each name has."""
        return self._log.counts()

    def get_interactions_by_prompt_name(self, prompt_name: str) -> list[Interaction]:
        """Return the calls with a name, oldest first."""
        return [_handed_out(call) for call in self._log.by_name(prompt_name)]

    def get_interactions_by_model(self, model: str) -> list[Interaction]:
        """Return the calls of a model, oldest first."""
        return [_handed_out(call) for call in self._log.all() if call.model == model]

    def get_interactions_by_model_and_prompt_name(self, model: str, prompt_name: str) -> list[Interaction]:
        """Return the calls of a model with a name, oldest first."""
        return [_handed_out(call) for call in self._log.by_name(prompt_name) if call.model == model]

    def get_latest_interaction_by_prompt_name(self, prompt_name: str) -> Interaction | None:
        """Return the newest call with a name, however it ended."""
        call = self._log.newest(prompt_name, lambda _: True)
        return None if call is None else _handed_out(call)

    def get_interaction_by_prompt(self, prompt: str) -> Interaction | None:
        """Return the newest call with that prompt and no name."""
        call = self._log.newest(prompt, lambda call: not call.prompt_name)
        return None if call is None else _handed_out(call)

    def get_latest_responses_by_prompt_names(self, prompt_names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return, for each name that was answered, ``{"prompt", "response"}`` of its newest answer.

        The prompt is what the model was asked, with its references resolved.
        """
        found = ((name, self._newest_answer(name)) for name in prompt_names)
        return {
            name: {"prompt": call.said, "response": clean_text(call.clean_response)}
            for name, call in found
            if call is not None
        }

    def get_formatted_responses(self, prompt_names: Iterable[str]) -> str:
        """Return the newest answers as ``<prompt:PROMPT>RESPONSE</prompt:PROMPT>``, one line each.

        Before each come the answers that its own ``history`` names, and theirs; each once.
        """
        answers = (self._newest_answer(name) for name in self._with_what_came_before(prompt_names))
        return "\n".join(
            f"<prompt:{call.said}>{clean_text(call.clean_response)}</prompt:{call.said}>"
            for call in answers
            if call is not None
        )

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return every call as a dict, by name."""
        return {
            name: [call.to_dict() for call in self.get_interactions_by_prompt_name(name)]
            for name in self.get_all_prompt_names()
        }

    def _newest_answer(self, name: str) -> Interaction | None:
        return self._log.newest(name, _is_answer)

    def _with_what_came_before(self, names: Iterable[str]) -> Iterator[str]:
        """Yield names, each after those of its history; a chain may be longer than Python's stack."""
        seen: set[str] = set()
        waiting = [(name, False) for name in reversed(list(names))]
        while waiting:
            name, its_history_is_done = waiting.pop()
            if its_history_is_done:
                yield name
            elif name not in seen:
                seen.add(name)
                waiting.append((name, True))
                call = self._newest_answer(name)
                waiting += [(earlier, False) for earlier in reversed((call and call.history) or ())]


def _is_answer(call: Interaction) -> bool:
    return call.status == "success" and bool(call.said) and call.clean_response not in (None, "")


def _handed_out(call: Interaction) -> Interaction:
    response = None if call.clean_response is None else clean_text(call.clean_response)
    return call.copy(prompt_name=key_of(call), response=response)
