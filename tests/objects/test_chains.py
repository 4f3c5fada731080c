"""Records are asked about through chains of clients: whoever answers has seen the record."""

from __future__ import annotations

from typing import Any

import pytest

from ffai.clients import FallbackClient, RetryClient
from ffai.objects import Asker
from ffai.testing import FakeClient


class Simple:
    """A client that keeps no conversation."""

    model = "simple"

    def __init__(self) -> None:
        self.prompts: list[Any] = []

    def generate_response(self, prompt: Any, **_: Any) -> str:
        self.prompts.append(prompt)
        return '{"result": true}'


@pytest.mark.parametrize("wrap", [lambda client: client, RetryClient], ids=["bare", "retried"])
def test_a_fallback_that_keeps_no_conversation_is_shown_the_record_too(wrap: Any) -> None:
    simple = Simple()
    chain = wrap(FallbackClient([FakeClient([ConnectionError("down")]), simple]))
    assert Asker(chain).is_({"title": "Refunds"}, "about money") is True
    assert "Refunds" in simple.prompts[0]


def test_a_chain_of_clients_that_all_keep_one_is_sent_a_message_of_its_own() -> None:
    second = FakeClient(['{"result": true}'])
    chain = FallbackClient([FakeClient([ConnectionError("down")]), second])
    assert Asker(chain).is_({"title": "Refunds"}, "about money") is True
    [call] = second.calls
    assert "Refunds" not in call.prompt
    assert "Refunds" in call.conversation[0]["content"]
