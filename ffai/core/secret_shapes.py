"""Secrets that are known by how they look: keys of providers, private keys, tokens, passwords in addresses.

Each search takes time linear in the text: a pattern that has begun takes the whole run of characters that can
belong to it, and whether that is a secret is decided afterwards.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int, str]
"""Where a secret begins and ends, and what kind it is."""

_SAMPLE = 512
"""Characters by which a long value is judged."""
_LONGEST_BLOCK = 100_000
"""Characters. What ends further from a private key's first line than this is not its end."""

_LONG_RUN = re.compile("[A-Za-z0-9]{8,}")
_DIGIT = re.compile("[0-9]")
_MIXED_CASE = re.compile("[a-z][A-Z]+[a-z]+[A-Z]")


def looks_random(value: str) -> bool:
    """Tell whether a value is made of what a machine made, and not of words joined by hyphens.

    Examples:
        >>> looks_random("proj-a8Kd93jfLw02"), looks_random("learn-contrib-extended-tools")
        (True, False)
    """
    runs = _LONG_RUN.findall(value, 0, _SAMPLE)
    return any(len(run) >= 20 or run.isdigit() or _is_mixed(run) for run in runs) or (
        len(value) >= 40 and _has_digit(value)
    )


def _has_digit(value: str) -> bool:
    return _DIGIT.search(value, 0, _SAMPLE) is not None


def _is_mixed(run: str) -> bool:
    """Tell whether letters and digits, or small and capital letters inside a word, are mixed."""
    return not run.isdigit() and (_has_digit(run) or _MIXED_CASE.search(run) is not None)


def _always(_: str) -> bool:
    return True


def _is_bearer(value: str) -> bool:
    return _has_digit(value) or (len(value) >= 16 and _is_mixed(value[:_SAMPLE]))


def _is_basic(value: str) -> bool:
    """Tell whether a value is ``user:password`` in base64."""
    try:
        return b":" in base64.b64decode(value[:_SAMPLE] + "=" * (-len(value[:_SAMPLE]) % 4), validate=True)
    except binascii.Error:
        return False


def _is_web_token(value: str) -> bool:
    parts = value.split(".", 8)
    begun = [part.startswith("eyJ") for part in parts]
    return len(parts) == 5 or any(one and other for one, other in pairwise(begun))


def _is_password(value: str) -> bool:
    return not is_blank_or_template(value)


_TEMPLATE = re.compile(
    r"""\$\{[^}]*\}?  | \$[A-Z_][A-Z0-9_]*  | \$[a-z_]+  | \$\(.* | \{.*\}?  | <[^<>]*>?  | %\(.*\)s  | %[sdr]
    | \[.* | \(+ | your[-_ ].* | (?P<same>.)(?P=same)*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def is_blank_or_template(value: str) -> bool:
    """Tell whether a value stands for one that is filled in elsewhere, or is blotted out already.

    Examples:
        >>> [is_blank_or_template(value) for value in ("${PASSWORD}", "<your key>", "****", "hunter2")]
        [True, True, True, False]
    """
    sample = value[:_SAMPLE]
    return not sample.strip() or _TEMPLATE.fullmatch(sample) is not None


Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a kind of secret looks like."""

    begins: str
    """Letters at its beginning; without them there is none."""
    pattern: re.Pattern[str]
    test: Test
    kind: str


def _shape(begins: str, rest: str, test: Test = _always, kind: str = "api key") -> _Shape:
    r"""Make a shape that begins where a word begins, or after a line end that is written as ``\n``."""
    first = re.escape(begins)  # first of all: a search for letters is the quickest
    start = rf"{first}(?:(?<![A-Za-z0-9_]{first})|(?<=\\[nrt]{first}))"
    return _Shape(begins, re.compile(f"{start}{rest}"), test, kind)


_KEY = "[A-Za-z0-9_-]"
_AFTER_SCHEME = r"[ \t]{1,4}[\"'<]?(?P<secret>[A-Za-z0-9._~+/=-]{8,})"
_BASIC = r"[ \t]{1,4}[\"'<]?(?P<secret>[A-Za-z0-9+/]{6,}={0,2})"
_SHAPES = {
    "_": (
        _shape("sk_", r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),  # Stripe
        _shape("rk_", r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
        _shape("whsec_", r"[A-Za-z0-9+/=]{16,}"),
        _shape("gh", r"[pousr]_[A-Za-z0-9]{20,}"),  # GitHub
        _shape("github_pat_", r"[A-Za-z0-9_]{20,}"),
        _shape("hf_", r"[A-Za-z0-9]{20,}"),  # Hugging Face
        _shape("npm_", r"[A-Za-z0-9]{30,}"),
        _shape("gsk_", r"[A-Za-z0-9]{20,}"),  # Groq
        _shape("r8_", r"[A-Za-z0-9]{20,}"),  # Replicate
    ),
    "-": (
        _shape("sk-", rf"{_KEY}{{16,}}", looks_random),  # OpenAI, Anthropic, DeepSeek, OpenRouter, ...
        _shape("gl", rf"[a-z]{{2,6}}-{_KEY}{{16,}}(?:\.{_KEY}+)*", looks_random),  # GitLab
        _shape("xox", r"[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}", _has_digit),  # Slack
        _shape("xapp-", r"[A-Za-z0-9-]{10,}", _has_digit),
        _shape("pypi-", rf"{_KEY}{{24,}}", looks_random),
        _shape("GOCSPX-", rf"{_KEY}{{20,}}"),  # Google
        _shape("xai-", r"[A-Za-z0-9]{20,}"),
        _shape("pplx-", r"[A-Za-z0-9]{20,}"),  # Perplexity
    ),
    ".": (
        _shape("ya29.", rf"{_KEY}{{20,}}"),  # Google
        _shape("SG.", rf"{_KEY}{{16,64}}\.{_KEY}{{16,}}"),  # SendGrid
        _shape("hvs.", rf"{_KEY}{{20,}}"),  # Vault
        _shape("eyJ", r"[A-Za-z0-9_.-]{20,}", _is_web_token, "token"),
    ),
    "": (
        _shape("AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),  # AWS
        _shape("ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
        _shape("AIza", rf"{_KEY}{{30,}}"),  # Google
        *(_shape(scheme, _AFTER_SCHEME, _is_bearer, "token") for scheme in ("Bearer", "bearer", "BEARER")),
        *(_shape(scheme, _BASIC, _is_basic, "password") for scheme in ("Basic", "basic", "BASIC")),
    ),
}
"""By a character that each of them has: looking for one character costs next to nothing."""
_IN_ADDRESS = _Shape(
    "://",
    re.compile(r"://[^\s/:@\"'<>\\]{0,256}:(?P<secret>[^\s/\"'<>\\]{1,256})@"),
    _is_password,
    "password",
)

_BEGIN = re.compile(r"----[- ]BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?[- ]----")
_END = re.compile(r"----[- ]END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?[- ]----")
_LINE_END = r"(?:\s|\\{1,4}[nrt]|[>|*#])"
_LINE = r"(?:[A-Za-z0-9+/]{24,}={0,2})"
_LAST_LINE = r"(?:[A-Za-z0-9+/]{4,}={1,2}|(?=[A-Za-z+/]{0,24}[0-9+/])[A-Za-z0-9+/]{4,23}(?![A-Za-z0-9+/.,:;!?'-]))"
_HEADER = r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Key-Info)\s?:[^\n\\]{0,200})"
_CUT = re.compile(rf"(?:{_LINE_END}{{1,16}}(?:{_LINE}|{_HEADER}))*(?:{_LINE_END}{{1,16}}{_LAST_LINE})?")


def shaped_secrets(text: str) -> Iterator[Span]:
    """Yield the secrets of a text that are known by their form.

    Examples:
        >>> list(shaped_secrets("redis://:hunter2@cache/0"))
        [(9, 16, 'password')]
    """
    for sign, shapes in _SHAPES.items():
        if sign in text:
            for shape in shapes:
                if shape.begins in text:
                    yield from _spans(text, shape)
    if "://" in text:
        yield from _spans(text, _IN_ADDRESS)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)


def _spans(text: str, shape: _Shape) -> Iterator[Span]:
    group = "secret" if "secret" in shape.pattern.groupindex else 0
    for match in shape.pattern.finditer(text):
        start, end = match.span(group)
        if text[end - 1] == ".":  # the end of a sentence
            end -= 1
        if shape.test(text[start:end]):
            yield start, end, shape.kind


def _private_keys(text: str) -> Iterator[Span]:
    """Yield private key blocks; of one that is cut off, the lines that are there."""
    end = _END.search(text)
    done = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        while end is not None and end.start() < begin.end():
            end = _END.search(text, end.end())
        limit = begin.end() + _LONGEST_BLOCK
        if end is not None and end.start() < limit and text.find("BEGIN ", begin.end(), end.start()) < 0:
            done = end.end()
        else:
            cut = _CUT.match(text, begin.end())
            done = cut.end() if cut else begin.end()
        yield begin.start(), done, "private key"
