"""A model hub and a provider of embeddings, as real servers on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

REPO = "Qdrant/all-MiniLM-L6-v2-onnx"
REVISION = "5f1b8cd78bc4fb444dd171e59b18f3a3af89a079"
Answer = tuple[int, dict[str, str], Any]


def vector_of(text: str) -> list[float]:
    """The vector that the provider gives a text: its length, and its first character's number."""
    return [float(len(text)), float(ord(text[0])) if text else 0.0, 0.1]


def vectors_of(texts: list[str]) -> Answer:
    return 200, {}, reply([vector_of(text) for text in texts])


def reply(vectors: list[list[float]], *, backwards: bool = False) -> dict[str, Any]:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": "m", "data": data[::-1] if backwards else data, "usage": usage}


class _Server:
    """A server on a free port, up between ``with`` and its end."""

    def __init__(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, headers, content = server.answer_to(self.command, self.path, self.headers, body)
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_POST = handle_request  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def answer_to(self, command: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError

    def __enter__(self) -> Any:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()


class Provider(_Server):
    """An embeddings endpoint. ``answer`` decides what it says; the lists keep what it was sent."""

    def __init__(self, answer: Callable[[list[str]], Answer] = vectors_of) -> None:
        super().__init__()
        self.answer = answer
        self.inputs: list[list[str]] = []
        self.keys: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def answer_to(self, command: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        self.bodies.append(json.loads(body))
        texts = self.bodies[-1]["input"]
        self.inputs.append(texts)
        self.keys.append(headers.get("authorization", ""))
        status, more, content = self.answer(texts)
        return status, {"content-type": "application/json", **more}, json.dumps(content).encode()


class Hub(_Server):
    """A model hub with one repository. ``sent`` keeps the names of the files it sent; ``refuses`` is a status."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self.files = files
        self.sent: list[str] = []
        self.refuses: int | None = None

    def answer_to(self, command: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path = path.partition("?")[0]
        if path == "/":
            return 200, {}, b""
        if self.refuses:
            return self.refuses, {}, b"{}"
        if path.startswith(f"/api/models/{REPO}/tree/"):
            return self._json([_described(name, content) for name, content in self.files.items()])
        if path.startswith(f"/api/models/{REPO}"):
            return self._json({"id": REPO, "sha": REVISION, "siblings": [{"rfilename": name} for name in self.files]})
        name = path.removeprefix(f"/{REPO}/resolve/{REVISION}/")
        if name not in self.files:
            return 404, {"x-error-code": "EntryNotFound"}, b""
        if command == "GET":
            self.sent.append(name)
        return 200, {"x-repo-commit": REVISION, "etag": f'"{_digest(self.files[name])}"'}, self.files[name]

    def _json(self, value: Any) -> tuple[int, dict[str, str], bytes]:
        return 200, {"content-type": "application/json"}, json.dumps(value).encode()


def _described(name: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": name, "size": len(content), "oid": _digest(content)}


def _digest(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()
