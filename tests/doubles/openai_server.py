"""A small OpenAI-compatible server whose answers a test writes down: real HTTP on the loopback, no model."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@dataclass(kw_only=True)
class Answer:
    """What the server gives to one request."""

    text: str | None = "Fine, thank you."
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    tool_calls: Sequence[Mapping[str, Any]] = ()
    one_index: bool = False
    """A stream gives all tool calls the same index, as some providers do."""
    usage: Mapping[str, int] | None = field(default_factory=lambda: dict(USAGE))
    gate: threading.Event | None = None
    """The answer waits for it."""
    cut: bool = False
    """A stream ends after its first piece, without a word."""

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.tool_calls else "stop"


@dataclass(frozen=True)
class Request:
    """What the server was asked."""

    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages


class OpenAIServer:
    """Serves chat completions from a list of answers; the last one stays for ever.

    Use it as a context manager; ``api_base`` is where it listens, ``requests`` what it was asked.
    """

    def __init__(self, *answers: Answer) -> None:
        self._answers = deque(answers or [Answer()])
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.take = self._take
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def api_base(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def script(self, *answers: Answer) -> None:
        """Answer the next requests with these."""
        with self._lock:
            self._answers = deque(answers)

    def _take(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    take: Callable[[Request], Answer]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is none."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.server.take(Request(body, {name.lower(): value for name, value in self.headers.items()}))
        if answer.gate:
            answer.gate.wait(30)
        if answer.status != 200:
            self._send(answer.status, {"error": {"message": f"scripted {answer.status}"}}, answer.headers)
        elif body.get("stream"):
            self._stream(body, answer)
        else:
            self._send(200, _completion(body, answer), answer.headers)

    def _send(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, body: dict[str, Any], answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in _chunks(body, answer):
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            if answer.cut:
                return
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _completion(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.tool_calls:
        message["tool_calls"] = list(answer.tool_calls)
    done: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
    }
    return done | ({"usage": answer.usage} if answer.usage else {})


def _chunks(body: dict[str, Any], answer: Answer) -> list[dict[str, Any]]:
    words = (answer.text or "").split(" ")
    pieces = [word + " " for word in words[:-1]] + words[-1:]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": piece} for piece in pieces if piece]
    for index, call in enumerate(answer.tool_calls):
        deltas.extend(_tool_deltas(0 if answer.one_index else index, call))
    chunks = [_chunk(body, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    chunks.append(_chunk(body, [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}]))
    if answer.usage and body.get("stream_options", {}).get("include_usage"):
        chunks.append(_chunk(body, []) | {"usage": answer.usage})
    return chunks


def _chunk(body: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    return {**head, "choices": choices}


def _tool_deltas(index: int, call: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A tool call arrives in parts: its name first, then its arguments, cut in two."""
    function = call["function"]
    cut = len(function["arguments"]) // 2
    first = {
        "index": index,
        "id": call["id"],
        "type": "function",
        "function": {"name": function["name"], "arguments": ""},
    }
    parts = [function["arguments"][:cut], function["arguments"][cut:]]
    return [{"tool_calls": [first]}, *({"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in parts)]
