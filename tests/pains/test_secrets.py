"""Keys and passwords that are typed into a chat: with ``memory.redact`` they are kept, embedded and logged nowhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.clients.retry import RetryClient, RetryPolicy
from ffai.core.history.recorder import HistoryRecorder
from ffai.core.history_manager import HistoryManager
from ffai.errors import ArgumentTypeError
from ffai.testing import FakeClient, FakeEmbedder

KEY = "sk-" + "a8Kd93jfLw02mPq7Xz5R"  # put together here, so that nobody takes this file for a leak
PASSWORD = "hunter2-Xq9"
BODY = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaGBir/JXpfaFd9V"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY[::-1]}\n-----END RSA PRIVATE KEY-----"
HARMLESS = "There is no API key in the build."
SAID = f"{HARMLESS} Mine is {KEY}, and password={PASSWORD}\n{PEM}\nWhat now?"
KEPT = f"{HARMLESS} Mine is [redacted: api key], and password=[redacted: password]\n[redacted: private key]\nWhat now?"
SECRETS = (KEY, PASSWORD, BODY, BODY[::-1])
REPLY = f"Throw {KEY} away, and password={PASSWORD} too."
KEPT_REPLY = "Throw [redacted: api key] away, and password=[redacted: password] too."


class Quoting(FakeEmbedder):
    """Fails, as services do that give back what they did not like."""

    def __init__(self, *, transient: bool = False) -> None:
        super().__init__()
        self.transient = transient

    def embed(self, texts: list[str]) -> Any:
        self.calls.append(list(texts))
        error = RuntimeError(f"can't embed {texts!r} for the key {KEY}: {texts[0]}")
        if self.transient:
            error.status_code, error.retry_after = 503, 0.0  # type: ignore[attr-defined]
        raise error


def leaks(folder: Path) -> set[str]:
    """The secrets in the raw bytes of a folder's files, and in what Parquet files hold."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            held = repr(pl.read_parquet(path).to_dicts()) if path.suffix == ".parquet" else ""
            found |= {f"{secret} in {path.name}" for secret in SECRETS if secret.encode() in raw or secret in held}
    return found


def texts_of(embedder: FakeEmbedder) -> str:
    return repr(embedder.calls)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Opens an ``FFAI`` that keeps everything in the test's folder; each is closed at the end."""
    made: list[FFAI] = []

    def open_it(client: Any = None, embedder: Any = None, *, redact: Any = True, **kwargs: Any) -> FFAI:
        memory = Memory(embedder or FakeEmbedder(), redact=redact)
        made.append(
            FFAI(
                client or FakeClient([REPLY]),
                memory=memory,
                memory_persist=True,
                persist_dir=tmp_path / "exports",
                persist_name="chat",
                config={"memory": {"persist_dir": str(tmp_path / "memory")}},
                **kwargs,
            )
        )
        return made[-1]

    yield open_it
    for ffai in made:
        ffai.close()


def test_a_secret_reaches_no_file_no_embedder_and_no_log(opened, tmp_path, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    embedder, client = FakeEmbedder(), FakeClient(["Noted: " + SAID, "Twice."])
    ffai = opened(client, embedder, auto_persist=True)

    answer = ffai.generate_response(SAID, prompt_name="plan")
    assert leaks(tmp_path) == set()  # the journal, before anything is embedded
    ffai.flush()
    ffai.generate_response("Again: {{plan.response}}")
    ffai.flush()  # else the file is being written while it is looked at
    assert ffai.history.persist_all_histories()
    frame = ffai.history.history_to_dataframe()
    assert leaks(tmp_path) == set()
    ffai.close()

    assert leaks(tmp_path) == set()
    assert not [secret for secret in SECRETS if secret in texts_of(embedder) or secret in caplog.text]
    assert answer.response == "Noted: " + SAID  # the caller, the model and the histories get what was said
    assert client.calls[1].prompt == "Again: Noted: " + SAID
    assert frame["prompt"][0] == SAID
    assert ffai.history.raw[0]["response"] == "Noted: " + SAID


def test_what_is_kept_shows_where_a_secret_was(opened, tmp_path) -> None:
    ffai = opened()
    ffai.generate_response(SAID)
    ffai.flush()
    (hit,) = ffai.history.search("What now?")
    assert (hit.prompt, hit.response) == (KEPT, KEPT_REPLY)
    assert hit.text == f"{KEPT}\n{KEPT_REPLY}"
    assert hit.turn["metadata"]["ffai"]["redacted"] is True
    ffai.history.persist_all_histories()
    exported = pl.read_parquet(tmp_path / "exports" / "chat_history.parquet")
    assert exported.select("prompt", "response").row(0) == (KEPT, KEPT_REPLY)


@pytest.mark.parametrize("transient", [False, True])
def test_a_failed_embedding_whose_error_quotes_the_text_leaks_nothing(opened, tmp_path, caplog, transient) -> None:
    caplog.set_level(logging.DEBUG)
    ffai = opened(embedder=Quoting(transient=transient))
    ffai.generate_response(SAID)
    ffai.flush()
    assert leaks(tmp_path) == set()
    (failed,) = ffai.memory.status().failed
    assert "[redacted: api key]" in failed.reason
    assert HARMLESS in failed.reason
    ffai.close()
    assert leaks(tmp_path) == set()
    assert not [secret for secret in SECRETS if secret in caplog.text or secret in failed.reason]
    assert "RuntimeError" in caplog.text


def test_a_turn_that_was_redacted_fails_without_a_leak_in_the_next_run_too(opened, tmp_path, caplog) -> None:
    first = opened(embedder=Quoting())
    first.generate_response(SAID)
    first.close()
    caplog.set_level(logging.DEBUG)
    second = opened(embedder=Quoting(), redact=False)
    second.memory.retry_failed()
    second.flush()
    assert KEY not in caplog.text
    second.close()
    assert leaks(tmp_path) == set()


def test_a_failed_call_is_exported_without_the_secrets_in_its_error(opened, tmp_path) -> None:
    ffai = opened(FakeClient([RuntimeError(f"refused: {SAID!r}")]))
    with pytest.raises(RuntimeError, match="refused"):
        ffai.generate_response(SAID)
    assert ffai.history.persist_all_histories()
    assert leaks(tmp_path) == set()
    assert KEY in ffai.history.raw[0]["error"]


def test_a_client_that_tries_again_logs_no_secret(caplog) -> None:
    caplog.set_level(logging.DEBUG)
    failure = ConnectionError(f"lost: {SAID}")
    policy = RetryPolicy(min_wait_seconds=0, exponential_jitter=False, sleep=lambda seconds: None)
    client = RetryClient(FakeClient([failure, "Here I am."]), policy)
    assert client.generate_response(SAID).text == "Here I am."
    assert "lost" in caplog.text
    assert not [secret for secret in SECRETS if secret in caplog.text]


def test_metadata_and_tool_calls_are_redacted_and_their_keys_are_not(opened, tmp_path) -> None:
    embedder = FakeEmbedder()
    memory = Memory(embedder, redact=True)
    memory.persist_to(tmp_path / "memory")
    data = {"note": SAID, "password": PASSWORD, "deep": [{"raw": KEY.encode()}], "n": 1}
    memory.remember("Hello", "Hi", metadata=data, scope=MemoryScope.user("ann"))
    memory.flush()
    (hit,) = memory.search("Hello")
    assert hit.metadata == {
        "note": KEPT,
        "password": "[redacted: password]",
        "deep": [{"raw": "[redacted: api key]"}],
        "n": 1,
    }
    assert hit.scope.actor_id == "ann"
    assert data["password"] == PASSWORD
    memory.close()
    assert leaks(tmp_path) == set()

    recorder = HistoryRecorder()
    tools = [{"name": "login", "arguments": f'{{"password": "{PASSWORD}", "key": "{KEY}"}}'}]
    recorder.record("Log in", "", "m", metadata=data, tool_calls=tools, usage={"note": KEY}, prompt_name="login")
    history = HistoryManager(recorder, persist_dir=tmp_path, persist_name="tools", redact=memory.redact)
    assert history.persist_all_histories()
    assert leaks(tmp_path) == set()
    row = pl.read_parquet(tmp_path / "tools_history.parquet").to_dicts()[0]
    assert row["prompt_name"] == "login"
    assert "[redacted: password]" in row["tool_calls"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_turns_that_are_embedded_at_once_are_redacted(tmp_path, asynchronous) -> None:
    embedder = FakeEmbedder()
    memory = Memory(embedder, redact=True)
    memory.persist_to(tmp_path)
    turn = {"role": "user", "content": [{"type": "text", "text": SAID}], "timestamp": 0.0, "metadata": {"k": KEY}}
    if asynchronous:
        await memory.aindex_turn(turn, {"k": KEY})
        await memory.aindex_turn_text(f"Another {KEY}", turn)
    else:
        memory.index_turn(turn, {"k": KEY})
        memory.index_turn_text(f"Another {KEY}", turn)
    hits = memory.search(f"Another {KEY}")
    assert [hit.text for hit in hits] == ["Another [redacted: api key]", KEPT]
    assert hits[1].turn["content"][0]["text"] == KEPT
    assert hits[1].turn["role"] == "user"
    assert hits[1].metadata == hits[1].turn["metadata"] == {"k": "[redacted: api key]"}
    assert turn["content"][0]["text"] == SAID
    await memory.aclose()
    assert leaks(tmp_path) == set()
    assert not [secret for secret in SECRETS if secret in texts_of(embedder)]


def test_a_turn_of_another_memory_still_knows_where_its_response_begins() -> None:
    plain = Memory(FakeEmbedder())
    plain.remember(SAID, REPLY)
    plain.flush()
    (found,) = plain.search("What now?")
    memory = Memory(FakeEmbedder(), redact=True)
    memory.index_turn_text(found.text, found.turn, found.metadata)
    (hit,) = memory.search("What now?")
    assert (hit.prompt, hit.response, hit.turn_id) == (KEPT, KEPT_REPLY, found.turn_id)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_secret_in_a_query_finds_its_placeholder_and_is_not_embedded(asynchronous) -> None:
    embedder = FakeEmbedder()
    memory = Memory(embedder, redact=True)
    memory.remember(f"My key is {KEY}", "Thanks.")
    memory.remember("What is for lunch today", "Soup.")
    memory.flush()
    hits = await memory.asearch(f"{KEY}", 1) if asynchronous else memory.search(f"{KEY}", 1)
    assert hits[0].prompt == "My key is [redacted: api key]"
    assert embedder.calls[-1] == ["[redacted: api key]"]


def test_the_setting_is_followed_by_the_memory_and_the_exports(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MEMORY__REDACT", "true")
    memory = Memory(FakeEmbedder())
    folder = {"memory": {"persist_dir": str(tmp_path / "memory")}}
    with FFAI(FakeClient([REPLY]), memory=memory, memory_persist=True, persist_dir=tmp_path, persist_name="chat",
              config=folder) as ffai:  # fmt: skip
        assert ffai.config.memory.redact
        ffai.generate_response(SAID)
        ffai.history.persist_all_histories()
    assert leaks(tmp_path) == set()

    with FFAI(FakeClient([REPLY]), persist_dir=tmp_path, persist_name="off", config={}) as ffai:  # memory is off
        ffai.generate_response(SAID)
        ffai.history.persist_all_histories()
    assert leaks(tmp_path) == set()


def test_the_memory_that_ffai_makes_itself_follows_the_setting(tmp_path, minilm_folder) -> None:
    settings = {
        "enabled": True,
        "redact": True,
        "persist": True,
        "persist_dir": str(tmp_path),
        "embedding_model": f"local/{minilm_folder}",
    }
    with FFAI(FakeClient([REPLY]), config={"memory": settings}) as ffai:
        ffai.generate_response(SAID)
        assert ffai.memory is not None
        assert ffai.memory.redact is not None
    assert leaks(tmp_path) == set()


def test_a_redactor_of_ones_own_is_used_everywhere(opened, tmp_path) -> None:
    embedder = FakeEmbedder()
    ffai = opened(FakeClient([f"Hello Ann, {KEY}"]), embedder, redact=lambda text: text.replace("Ann", "[name]"))
    ffai.generate_response("I am Ann")
    ffai.flush()
    (hit,) = ffai.history.search("Ann")
    assert (hit.prompt, hit.response) == ("I am [name]", f"Hello [name], {KEY}")
    assert "Ann" not in texts_of(embedder)
    ffai.history.persist_all_histories()
    exported = pl.read_parquet(tmp_path / "exports" / "chat_history.parquet")
    assert exported["response"][0] == f"Hello [name], {KEY}"


def test_a_redactor_that_fails_breaks_no_chat_and_keeps_nothing(opened, tmp_path, caplog) -> None:
    def failing(text: str) -> str:
        raise LookupError(text)

    ffai = opened(redact=failing)
    assert ffai.generate_response(SAID).response == REPLY
    ffai.flush()
    (hit,) = ffai.history.search("anything")
    assert (hit.prompt, hit.response) == ("[redacted: everything]", "[redacted: everything]")
    assert leaks(tmp_path) == set()
    assert KEY not in caplog.text


def test_what_can_not_redact_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="redact must be"):
        Memory(FakeEmbedder(), redact="yes")  # type: ignore[arg-type]


def test_without_the_setting_everything_is_kept_as_it_was_said(opened, tmp_path) -> None:
    embedder = Quoting()
    ffai = opened(embedder=embedder, redact=False)
    ffai.generate_response(SAID)
    ffai.flush()
    (failed,) = ffai.memory.status().failed
    assert KEY in failed.reason
    assert SAID in embedder.calls[0][0]
    ffai.history.persist_all_histories()
    assert pl.read_parquet(tmp_path / "exports" / "chat_history.parquet")["prompt"][0] == SAID
    ffai.close()

    memory = Memory(FakeEmbedder())
    memory.remember(SAID, REPLY, metadata={"password": PASSWORD})
    memory.flush()
    (hit,) = memory.search(KEY)
    assert (hit.prompt, hit.response, hit.metadata) == (SAID, REPLY, {"password": PASSWORD})
    assert set(hit.turn["metadata"]["ffai"]) == {"turn_id", "response_at", "scope"}
