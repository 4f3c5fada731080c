"""Earlier turns in front of a prompt, and a client's own conversation out of its way meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ffai.chat.away import away_of
from ffai.chat.calling import method
from ffai.typing import Prompt


def with_history(prompt: Prompt, turns: Sequence[tuple[str, str, str]]) -> Prompt:
    r"""Put earlier turns in front of a prompt.

    Args:
        prompt: text, or message parts.
        turns: name, prompt and response of each.

    Examples:
        >>> print(with_history("And why?", [("sky", "Which colour?", "Blue.")]))
        <conversation_history>
        <interaction prompt_name='sky'>
        USER: Which colour?
        SYSTEM: Blue.
        </interaction>
        </conversation_history>
        ===
        Based on the conversation history above, please answer: And why?
    """
    if not turns:
        return prompt
    blocks = "".join(
        f"<interaction prompt_name='{name}'>\nUSER: {asked}\nSYSTEM: {answered}\n</interaction>\n"
        for name, asked, answered in turns
    )
    intro = (
        f"<conversation_history>\n{blocks}</conversation_history>\n===\n"
        "Based on the conversation history above, please answer: "
    )
    return intro + prompt if isinstance(prompt, str) else [{"type": "text", "text": intro}, *prompt]


class ClientConversation:
    """The conversation that a client keeps by itself, put away while prompts bring their own history.

    Calls that overlap share one emptied conversation; the last one to end puts the rest back in front of what they
    added. A client that keeps no conversation is left alone.
    """

    def __init__(self, client: Any) -> None:
        kept = method(client, "get_conversation_history"), method(client, "set_conversation_history")
        self._away = None if None in kept else away_of(client)

    @contextlib.contextmanager
    def put_away(self, wanted: bool) -> Iterator[None]:
        """Empty the conversation for the duration of a call, if ``wanted``."""
        if not wanted or self._away is None:
            yield
            return
        self._away.begin()
        try:
            yield
        finally:
            self._away.end()
