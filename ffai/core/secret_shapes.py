"""Secrets that are known by how they look: keys of providers, private keys, tokens, passwords in addresses.

Each search takes time linear in the text: a pattern that has begun takes the whole run of characters that can
belong to it, and whether that is a secret is decided afterwards.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

Span = tuple[int, int, str]
"""Where a secret begins and ends, and what kind it is."""

_SAMPLE = 512
"""Characters by which a long value is judged."""
_LONGEST_BLOCK = 100_000
"""Characters. What ends further from a private key's first line than this is not its end."""

_NOT_IN_A_WORD = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"  # texts in error messages have their line ends as \n


def looks_random(value: str) -> bool:
    """Tell whether a value is made of what a machine made, and not of words joined by hyphens.

    Examples:
        >>> looks_random("proj-a8Kd93jfLw02"), looks_random("learn-contrib-extended-tools")
        (True, False)
    """
    runs = re.findall(r"[A-Za-z0-9]{8,}", value[:_SAMPLE])
    return any(len(run) >= 20 or _is_mixed(run) for run in runs) or (len(value) >= 40 and _has_digit(value))


def _has_digit(value: str) -> bool:
    return re.search(r"[0-9]", value[:_SAMPLE]) is not None


def _is_mixed(run: str) -> bool:
    """Tell whether letters and digits, or small and capital letters inside a word, are mixed."""
    letters = re.search(r"[A-Za-z]", run) is not None
    return letters and (_has_digit(run) or re.search(r"[a-z][A-Z]+[a-z]+[A-Z]", run) is not None)


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
    return len(parts) == 5 or any(one and other for one, other in zip(begun, begun[1:], strict=False))


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


def _shape(needle: str, pattern: str, test: Test = _always, kind: str = "api key") -> tuple[str, re.Pattern[str], Test, str]:
    return needle, re.compile(_NOT_IN_A_WORD + pattern), test, kind


_KEY = "[A-Za-z0-9_-]"
_SHAPES = (
    _shape("sk-", rf"(?P<secret>sk-{_KEY}{{16,}})", looks_random),  # OpenAI, Anthropic, DeepSeek, OpenRouter, ...
    _shape("k_", r"(?P<secret>[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,})"),  # Stripe
    _shape("whsec_", r"(?P<secret>whsec_[A-Za-z0-9+/=]{16,})"),
    _shape("AKIA", r"(?P<secret>AKIA[A-Z0-9]{16})(?![A-Za-z0-9])"),  # AWS
    _shape("ASIA", r"(?P<secret>ASIA[A-Z0-9]{16})(?![A-Za-z0-9])"),
    _shape("gh", r"(?P<secret>gh[pousr]_[A-Za-z0-9]{20,})"),
    _shape("github_pat_", r"(?P<secret>github_pat_[A-Za-z0-9_]{20,})"),
    _shape("gl", rf"(?P<secret>gl[a-z]{{2,6}}-{_KEY}{{16,}}(?:\.{_KEY}+)*)", looks_random),
    _shape("xox", r"(?P<secret>xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,})", _has_digit),  # Slack
    _shape("xapp-", r"(?P<secret>xapp-[A-Za-z0-9-]{10,})", _has_digit),
    _shape("AIza", rf"(?P<secret>AIza{_KEY}{{30,}})"),  # Google
    _shape("ya29.", rf"(?P<secret>ya29\.{_KEY}{{20,}})"),
    _shape("GOCSPX-", rf"(?P<secret>GOCSPX-{_KEY}{{20,}})"),
    _shape("hf_", r"(?P<secret>hf_[A-Za-z0-9]{20,})"),
    _shape("npm_", r"(?P<secret>npm_[A-Za-z0-9]{30,})"),
    _shape("pypi-", rf"(?P<secret>pypi-{_KEY}{{24,}})", looks_random),
    _shape("gsk_", r"(?P<secret>gsk_[A-Za-z0-9]{20,})"),  # Groq
    _shape("xai-", r"(?P<secret>xai-[A-Za-z0-9]{20,})"),
    _shape("pplx-", r"(?P<secret>pplx-[A-Za-z0-9]{20,})"),
    _shape("r8_", r"(?P<secret>r8_[A-Za-z0-9]{20,})"),  # Replicate
    _shape("SG.", rf"(?P<secret>SG\.{_KEY}{{16,64}}\.{_KEY}{{16,}})"),  # SendGrid
    _shape("hv", rf"(?P<secret>hv[sb]\.{_KEY}{{20,}})"),  # Vault
    _shape("eyJ", r"(?P<secret>eyJ[A-Za-z0-9_.-]{20,})", _is_web_token, "token"),
    _shape("earer", r"[Bb]earer[ \t]{1,4}[\"'<]?(?P<secret>[A-Za-z0-9._~+/=-]{8,})", _is_bearer, "token"),
    _shape("EARER", r"BEARER[ \t]{1,4}[\"'<]?(?P<secret>[A-Za-z0-9._~+/=-]{8,})", _is_bearer, "token"),
    _shape("asic", r"[Bb]asic[ \t]{1,4}[\"'<]?(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", _is_basic, "password"),
)
_IN_ADDRESS = re.compile(r"://[^\s/:@\"'<>\\]{0,256}:(?P<secret>[^\s/\"'<>\\]{1,256})@")

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
    for needle, pattern, test, kind in _SHAPES:
        if needle in text:
            yield from _spans(text, pattern, test, kind)
    if "://" in text:
        yield from _spans(text, _IN_ADDRESS, _is_password, "password")
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)


def _spans(text: str, pattern: re.Pattern[str], test: Test, kind: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        start, end = match.span("secret")
        secret = match["secret"].rstrip(".")
        if test(secret):
            yield start, start + len(secret) if kind == "token" else end, kind


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
