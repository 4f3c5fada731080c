"""Talking to a chat model: the client protocol, prompts and replies. No provider is named here."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.chat.calling import acall, astream, call, check_client, stream
    from ffai.chat.conversation import Conversation
    from ffai.chat.message import check_prompt
    from ffai.chat.protocol import ChatClient
    from ffai.chat.reply import ChatReply, TokenUsage, ToolCall, as_reply
    from ffai.chat.streaming import AsyncReplyStream, ReplyStream

__all__ = [
    "AsyncReplyStream",
    "ChatClient",
    "ChatReply",
    "Conversation",
    "ReplyStream",
    "TokenUsage",
    "ToolCall",
    "acall",
    "as_reply",
    "astream",
    "call",
    "check_client",
    "check_prompt",
    "stream",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "AsyncReplyStream": "ffai.chat.streaming",
        "ChatClient": "ffai.chat.protocol",
        "ChatReply": "ffai.chat.reply",
        "Conversation": "ffai.chat.conversation",
        "ReplyStream": "ffai.chat.streaming",
        "TokenUsage": "ffai.chat.reply",
        "ToolCall": "ffai.chat.reply",
        "acall": "ffai.chat.calling",
        "as_reply": "ffai.chat.reply",
        "astream": "ffai.chat.calling",
        "call": "ffai.chat.calling",
        "check_client": "ffai.chat.calling",
        "check_prompt": "ffai.chat.message",
        "stream": "ffai.chat.calling",
    },
)
