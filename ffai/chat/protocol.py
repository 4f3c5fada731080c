"""What a chat client is. Any object with these members is one; no base class is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ffai.typing import Prompt

if TYPE_CHECKING:
    from ffai.chat.reply import ChatReply


class ChatClient(Protocol):
    """A client of one chat model.

    ffai also uses, where a client has them: ``agenerate_response``, ``stream_response`` and
    ``astream_response`` (yield text pieces), ``last_usage``, ``last_cost_usd``, ``system_instructions``,
    ``get_conversation_history``, ``set_conversation_history``, ``clear_conversation``, ``add_tool_result``, ``clone``.
    """

    model: str

    def generate_response(self, prompt: Prompt, **kwargs: Any) -> str | ChatReply:
        """Answer a prompt."""
        ...
