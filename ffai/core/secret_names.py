"""Secrets that are known by the name in front of them: ``password=...``, ``"api_key": "..."``, ``token: ...``."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence

from ffai.core.secret_shapes import Span, is_blank_or_template, looks_random


def _name(kind: str, begins: str, rest: str = "") -> tuple[str, re.Pattern[str], str]:
    return begins, re.compile(rf"{begins}{rest}(?![a-z0-9_])"), kind


def _after(words: Sequence[str], between: str, name: str) -> str:
    """Return a pattern that holds where one of some words stands before a name that has just been read."""
    joints = ("", between.removesuffix("?")) if between.endswith("?") else (between,)
    return "(?:" + "|".join(f"(?<={word}{joint}{name})" for word in words for joint in joints) + ")"


_BEFORE_KEY = ("api", "secret", "private", "access", "signing", "encryption", "account")
_BEFORE_PASS = ("db", "pg", "my", "ftp", "smtp", "mail", "user", "admin", "root", "mysql", "redis", "http", "proxy")
_NAMES = (
    _name("password", "pass", rf"(?:w(?:or)?d[0-9]?|phrase|{_after(_BEFORE_PASS, '[_-]', 'pass')})"),
    _name("password", "pwd"),
    _name("api key", "key", _after(_BEFORE_KEY, "[ _-]?", "key")),
    _name("secret", "secret"),
    _name("token", "token"),
    _name("token", "authorization"),
)
"""Names in small letters, at their ends: what stands before one, as in ``db_password``, does not matter."""
_TYPES = r"(?:str|bytes|string|SecretStr|Optional\[str\]|str \| None)"
_SIGN = re.compile(
    r"(?:\\?[\"'`]\]?)?(?:(?: is)?[ \t]{0,8}"
    rf"(?P<sign>:=|=>|={{1,3}}|!=|:[ \t]{{0,2}}{_TYPES}[ \t]{{0,2}}=|:|>(?=[^<>\s]{{1,200}}</))"
    r"| is(?= [\"'`]))[ \t]{0,8}"
)

_OPENING = re.compile(r"[bru]{0,2}(?P<slash>\\?)(?P<quote>\"{3}|'{3}|[\"'`])", re.IGNORECASE)
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.)*(?={quote})", re.DOTALL) for quote in ('"', "'", "`")}
_QUOTED_INSIDE = re.compile(r"[^\"'`\\\n]*(?=\\[\"'`])")
"""A quoted value in a text that is itself quoted."""
_RUN = re.compile(r"(?:[^\s\"'`&,;\[\\<]|<(?!/)|[,;](?!\s|\Z|[A-Za-z_-]{1,40}[=:])|\[(?!redacted: )|\\(?![nrt\"']))*")
"""A value without quotes."""
_AFTER = ".,;:!?)]}>"
"""What ends a sentence or an expression, and is no part of a value at whose end it is."""

PLACEHOLDER = re.compile(r"\[redacted: [a-z ]{1,40}\]")

_SMALL_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_SAMPLE = 128
"""Characters by which a long value is judged."""
_WORDS = frozenset(
    """
    none null nil true false undefined str string int integer float bool boolean bytes object any optional required text
    varchar char number hidden password passwd passphrase pass pwd secret token key apikey value example redacted masked
    empty missing invalid expired wrong incorrect unset hashed encrypted input prompt args kwargs self env await lambda
    not new async return yes no default plain plaintext here field type never always changed reset authorization
    authentication bearer basic digest negotiate secretstr secretbytes
    """.split()  # noqa: SIM905 - a list of 80 quoted words is not read
)
_PROSE = re.compile(
    r"\b(?:is|are|be|was|has|must|should|can|cannot|may|the|a|an|this|that|and|or|not|too|least|required|field|"
    r"characters?|please|enter|your|with|for|from|of|to|in)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[(\[].*|[(\[].*"
    r"|(?:self|os|config|settings|env|process|args|request|req|ctx|app|cfg|options|params|user|this|secrets|cls|kwargs)\..*"
    r"|[A-Za-z_]+(?:\.[A-Za-z_]+)+"
    r"|[a-z]+(?:Password|Passwd|Token|Secret|Key)",
    re.DOTALL,
)
_FOLDER = re.compile(r"[~.]?/|[A-Za-z]:[\\/]")
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_VARIABLE = re.compile(r"_*[A-Za-z]+(?:_[A-Za-z]+)+|[a-z][a-z0-9_]*_(?:key|token|secret|password)")


def kind_named(name: str) -> str | None:
    """Return the kind of secret that a name promises; ``None`` for another name.

    Examples:
        >>> kind_named("DB_PASSWORD"), kind_named("openai_api_key"), kind_named("keyboard")
        ('password', 'api key', None)
    """
    return next((kind for end, kind in _names(_small(name)) if end == len(name)), None)


def is_secret(value: str, kind: str, *, quoted: bool = True, plain_word: bool = True) -> bool:
    """Tell whether a value that has a secret's name can be one.

    Args:
        value: the value.
        kind: what its name promises.
        quoted: whether its ends are known; else it may be a piece of code.
        plain_word: whether a password may be a word of letters alone.

    Examples:
        >>> is_secret("hunter2", "password"), is_secret("None", "password"), is_secret("str", "token")
        (True, False, False)
    """
    sample = PLACEHOLDER.sub("", value[:_SAMPLE]).strip()
    if len(sample) < 4 or sample.lower() in _WORDS or is_blank_or_template(sample):
        return False
    if not quoted and _CODE.fullmatch(sample):
        return False
    if kind == "password":
        return not (" " in sample and _PROSE.search(sample)) and (plain_word or not sample.isalpha())
    if " " in sample:
        return False
    digits, letters = _DIGIT.search(sample) is not None, _LETTER.search(sample) is not None
    if not quoted:
        return digits and letters and len(sample) >= 8
    return looks_random(sample) or (digits and len(sample) >= (6 if letters else 8))


def named_secrets(text: str) -> Iterator[Span]:
    """Yield the values of a text that are secrets by their name.

    Examples:
        >>> [(start, end, kind) for start, end, kind in named_secrets("password=hunter2, token: str")]
        [(9, 16, 'password')]
    """
    done = run_end = 0
    for name_end, kind in _names(small := _small(text)):
        sign = _SIGN.match(text, name_end)
        if sign is None or (begin := sign.end()) < done:
            continue
        start, end = _quoted(text, begin) or (begin, begin)
        quoted = end > start
        if not quoted:
            if begin >= run_end:  # a run that holds many names is gone through once
                run = _RUN.match(text, begin)
                run_end = run.end() if run else begin
            end = _without_end(text, start, run_end)
        plain_word = (sign["sign"] or "=")[-1] in "=>" or text[end : end + 1] in ("", "\n", "\r")
        value = text[start : min(end, start + _SAMPLE)]
        if small.endswith("pwd", 0, name_end) and _FOLDER.match(value):
            continue  # the shell's current folder
        if not quoted and _is_variable(value, text[begin - 1], text[end : end + 1]):
            continue
        if is_secret(value, kind, quoted=quoted, plain_word=quoted or plain_word):
            yield start, end, kind
            done = end


def _is_variable(value: str, before: str, after: str) -> bool:
    """Tell whether a value is one of a program's variables, by its form and what stands around it."""
    return (before in " \t" or after in ("(", ")", ",")) and _VARIABLE.fullmatch(value) is not None


def _names(small: str) -> list[tuple[int, str]]:
    """Return where the names of secrets end in a text of small letters, in order, and what kinds they promise."""
    found = [
        (match.end(), kind)
        for begins, name, kind in _NAMES
        if begins in small  # much quicker than to let the pattern find that out
        for match in name.finditer(small)
    ]
    return sorted(found)


def _small(text: str) -> str:
    """Return a text in small letters, each at its place."""
    small = text.lower()
    return small if len(small) == len(text) else text.translate(_SMALL_LETTERS)


def _quoted(text: str, begin: int) -> tuple[int, int] | None:
    """Return where a value in quotes begins and ends; ``None`` where there is none, or no closing quote."""
    opening = _OPENING.match(text, begin)
    if opening is None:
        return None
    inside = _QUOTED_INSIDE if opening["slash"] else _QUOTED[opening["quote"][0]]
    value = inside.match(text, opening.end())
    return value.span() if value else None


def _without_end(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in _AFTER:
        end -= 1
    return end
