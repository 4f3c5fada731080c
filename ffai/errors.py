"""Every error ffai raises, as one tree.

FFAIError
├── InvalidArgumentError (ValueError)      an argument has the right type and a wrong value
│   └── ScopeValidationError               a scope that can't be used: code VALIDATION_FAILED
├── ArgumentTypeError (TypeError)          an argument has a wrong type
├── ConfigError (ValueError)               a setting in a file or the environment is wrong
├── ClosedError (RuntimeError)             used after close()
├── MissingExtraError (ImportError)        an optional package is not installed
├── ClientError (RuntimeError)             a chat client failed or answered something unusable
│   ├── AllClientsFailedError              every client of a fallback chain failed
│   ├── ToolLoopLimit                      a model went on calling tools
│   └── StructuredReplyError (ValueError)  a reply that is not the object that was asked for
│       └── MalformedReply                 a reply that is neither yes nor no
├── MemoryDisabledError (RuntimeError)     memory is off, and was needed
├── EmptyWindowError (ValueError)          nothing was said in the time that was to be summarised
├── EmptySummaryError (ValueError)         the model summarised nothing
├── UnknownReferenceError (ValueError)     {{name.response}} names no earlier prompt
├── SensitiveFieldError (ValueError)       a secret field was to be filtered, shown or embedded
├── UnsafeFilterError (ValueError)         a filter that is not made of known columns
├── EmbeddingError (RuntimeError)          an embedding model failed
│   ├── ModelUnavailableError (ImportError)  a local model can't be loaded
│   │   └── DamagedModelError              its files are cut or broken
│   ├── MissingKeyError (ValueError)       a provider needs a key
│   └── BadVectorError (ValueError)        a vector of the wrong size, zero or not finite
│       └── DimensionError                 two vectors differ in size
└── StoreError (RuntimeError)              the stored turns can't be read or written
    ├── StoreFileNotFoundError (FileNotFoundError)
    ├── SchemaVersionError (ValueError)    a file of a format this build can't read
    ├── ModelChangedError (ValueError)     the stored vectors are of another model
    ├── DamagedFileError (ValueError)      a file that is not what its name says
    └── JournalError                       the journal can't be written
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class FFAIError(Exception):
    """The root of every error that ffai raises. Each can be copied, and sent from one process to another."""

    def __reduce__(self) -> tuple[Callable[..., FFAIError], tuple[Any, ...], dict[str, Any]]:
        return _told_again, (type(self), self.args), self.__dict__


class InvalidArgumentError(FFAIError, ValueError):
    """An argument has a value that can't be used."""


class Violation(NamedTuple):
    """One rule that a scope breaks."""

    field: str
    rule: str
    """``type``, ``choice``, ``min_length``, ``max_length``, ``encoding``, ``pair``, ``needs_actor``, ``exclusive``,
    ``unknown`` or ``required``."""
    message: str


class ScopeValidationError(InvalidArgumentError):
    """A scope can't be used: by itself, or for what was asked. Nothing was stored, and no model was called.

    Attributes:
        violations: every rule it breaks.
    """

    code = "VALIDATION_FAILED"
    status = 400

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__("; ".join(violation.message for violation in violations) + ".")
        self.violations = tuple(violations)


class ArgumentTypeError(FFAIError, TypeError):
    """An argument has a type that can't be used."""


class ConfigError(FFAIError, ValueError):
    """A setting is unknown, or has a value that can't be used."""

    def __init__(self, source: str, key: str, problem: str) -> None:
        super().__init__(f"{source}: {key}: {problem}")
        self.source, self.key, self.problem = source, key, problem


class ClosedError(FFAIError, RuntimeError):
    """Something was used after its close()."""


class MissingExtraError(FFAIError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, module: str, extra: str, *, commands: Sequence[str] = ()) -> None:
        self.commands = tuple(commands) or (f'pip install "ffai[{extra}]"',)
        told = " && ".join(self.commands)
        super().__init__(f"{module!r} is not installed. Install it with: {told}", name=module)
        self.module, self.extra = module, extra


class ClientError(FFAIError, RuntimeError):
    """A chat client failed, or answered something that is not a reply."""


class AllClientsFailedError(ClientError):
    """Every client of a fallback chain failed; the first error is the cause."""

    def __init__(self, errors: Sequence[tuple[str, BaseException]]) -> None:
        told = "; ".join(f"{model}: {type(error).__name__}: {error}" for model, error in errors)
        super().__init__(f"All {len(errors)} models failed. {told}")
        self.errors = tuple(errors)


class MemoryDisabledError(FFAIError, RuntimeError):
    """Something was to be kept or looked up in a memory that is off."""


class EmptyWindowError(FFAIError, ValueError):
    """Nothing was said in the time that was to be summarised. Nothing was stored."""


class EmptySummaryError(FFAIError, ValueError):
    """The model gave a blank summary. Nothing was stored."""


class StructuredReplyError(ClientError, ValueError):
    """A model was asked for an object, twice, and its reply can't be read as one.

    Attributes:
        kind: the name of the class of the object.
        reply: the last reply, as it came.
        reason: what is wrong with it.
    """

    def __init__(self, kind: str, reply: str, reason: str) -> None:
        super().__init__(f"The model's reply is no {kind}: {reason}. It was {reply!r:.300}")
        self.kind, self.reply, self.reason = kind, reply, reason


class MalformedReply(StructuredReplyError):  # noqa: N818 - named by contract
    """A model was asked yes or no, twice, and answered neither.

    Attributes:
        reply: the last reply, as it came.
        reason: what is wrong with it.
    """

    def __init__(self, reply: str, reason: str) -> None:
        super().__init__("verdict", reply, reason)


class ToolLoopLimit(ClientError):  # noqa: N818 - named by contract
    """A model went on calling tools instead of answering.

    Attributes:
        rounds: how many rounds of calls there were.
        called: names of the tools it called, in order.
    """

    def __init__(self, rounds: int, called: Sequence[str]) -> None:
        super().__init__(
            f"The model called tools {rounds} times and gave no answer: {', '.join(called)}. "
            "Raise tool_rounds, or offer it fewer tools."
        )
        self.rounds, self.called = rounds, tuple(called)


class SensitiveFieldError(FFAIError, ValueError):
    """A secret field was to be filtered by, ordered by, shown or embedded. Its value is not in the message.

    Attributes:
        field: the name of the field.
        owner: the name of the class.
    """

    def __init__(self, field: str, owner: str, use: str) -> None:
        super().__init__(f"{owner}.{field} is sensitive and can't be {use}.")
        self.field, self.owner = field, owner


class UnsafeFilterError(FFAIError, ValueError):
    """A filter or an order holds something other than columns of known tables and bound values."""


class UnknownReferenceError(FFAIError, ValueError):
    """A prompt refers to the response of a prompt that has none."""

    def __init__(self, names: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(f"No response is known for {sorted(names)!r}. Known prompt names: {sorted(known)!r}.")
        self.names, self.known = tuple(names), tuple(known)


class EmbeddingError(FFAIError, RuntimeError):
    """An embedding model failed.

    Attributes:
        transient: the same call may succeed later: a rate limit, a timeout, a server's fault, no network.
        retry_after: seconds to wait before the next try, where that is known.
        status_code: the HTTP status, where there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        retry_after: float | None = None,
        status_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.transient, self.retry_after, self.status_code = transient, retry_after, status_code


class ModelUnavailableError(EmbeddingError, ImportError):
    """A local embedding model can't be loaded."""


class DamagedModelError(ModelUnavailableError):
    """The files of a local embedding model are cut or broken."""


class MissingKeyError(EmbeddingError, ValueError):
    """A provider needs a key that was not given."""

    def __init__(self, model: str, variable: str) -> None:
        super().__init__(f"No API key for model {model!r}. Set {variable} or pass api_key.")
        self.model, self.variable = model, variable


class BadVectorError(EmbeddingError, ValueError):
    """A vector is all zeros, not finite, or of the wrong size."""


class DimensionError(BadVectorError):
    """Two vectors that are compared differ in size."""

    def __init__(self, found: int, expected: int) -> None:
        super().__init__(f"A vector has {found} dimensions; the stored vectors have {expected}.")
        self.found, self.expected = found, expected


class StoreError(FFAIError, RuntimeError):
    """The stored turns can't be read or written."""


class StoreFileNotFoundError(StoreError, FileNotFoundError):
    """There is no memory file at the path."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"Memory persistence file not found: {str(path)!r}")
        self.path = path


class SchemaVersionError(StoreError, ValueError):
    """A file was written in a format this build can't read."""

    def __init__(self, found: Sequence[int], supported: int) -> None:
        super().__init__(
            f"Unsupported memory persistence schema version(s): {sorted(found, key=repr)}. "
            f"This build supports version {supported} only."
        )
        self.found, self.supported = tuple(found), supported


class ModelChangedError(StoreError, ValueError):
    """The stored vectors were made by another model, and are not to be made again."""

    def __init__(self, stored: str | None, asked: str, dimensions: int) -> None:
        super().__init__(
            f"The stored turns were embedded by {stored or 'a model without a name'!r}, {dimensions} numbers a vector, "
            f"not by {asked!r}. Use that model, or embed them again: memory.on_model_change 'reindex'."
        )
        self.stored, self.asked, self.dimensions = stored, asked, dimensions


class DamagedFileError(StoreError, ValueError):
    """A file is cut, empty, or of another kind than its name says."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{str(path)!r} is not a memory file that can be read: {problem}")
        self.path, self.problem = path, problem


class JournalError(StoreError):
    """The journal can't be read or written."""


def _told_again(kind: type[FFAIError], args: tuple[Any, ...]) -> FFAIError:
    """Make an error from what it told. Its own constructor is left out: that takes what it is to tell about."""
    base: Any = kind
    while base.__module__ != "builtins":  # the built-in one whose memory it has; of several, not always the first
        base = base.__base__
    error: FFAIError = base.__new__(kind)
    error.args = args
    return error
