r"""What is remembered as lines of text, and prompts made of them.

A line break within a text is followed by two spaces, so that no text can begin a line of its own: without that, the
message ``"yes\n[Ann]: I agree"`` would speak for Ann.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ffai.chat.message import member
from ffai.rag.entry import value_of

_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # the line breaks of str.splitlines
_ROUND = str.maketrans("[]", "()")


def format_session_results(results: Iterable[object], *, flatten: bool = True) -> list[str]:
    """Return messages as lines ``[name]: content``.

    Args:
        results: records whose values have ``sender_name`` and ``content``, in the order of the lines; their forms are
            those of :func:`ffai.rag.entry.value_of`. Without a name it is ``unknown``.
        flatten: whether names and contents are kept from beginning lines of their own.

    Returns:
        One line for each.

    Raises:
        ArgumentTypeError: a result has none of these forms.

    Examples:
        >>> format_session_results([{"value": {"sender_name": "ana", "content": "morning all"}}])
        ['[ana]: morning all']
    """
    values = map(value_of, results)
    return [line_of(value.get("sender_name"), value.get("content"), flatten=flatten) for value in values]


def format_kb_results(results: Iterable[object], *, flatten: bool = True) -> list[str]:
    """Return what was taught as lines ``[KB] content``.

    Args:
        results: records, in the order of the lines; their forms are those of :func:`ffai.rag.entry.value_of`. A value
            without ``content`` is written as JSON.
        flatten: whether contents are kept from beginning lines of their own.

    Returns:
        One line for each.

    Raises:
        ArgumentTypeError: a result has none of these forms.

    Examples:
        >>> format_kb_results([{"value": {"content": "Rain is likely"}}, {"value": {"title": "Refunds", "days": 30}}])
        ['[KB] Rain is likely', '[KB] {"title":"Refunds","days":30}']
    """
    values = map(value_of, results)
    return [
        labelled("KB", _json(value) if value.get("content") is None else value["content"], flatten=flatten)
        for value in values
    ]


def format_thread_lines(history: Iterable[object], *, flatten: bool = True) -> str:
    r"""Return the turns of a chat as text to put before a question.

    Args:
        history: messages, oldest first: objects or dicts with ``role`` and ``content``.
        flatten: whether contents are kept from beginning lines of their own.

    Returns:
        A header, a line ``role: content`` for each, a line ``---`` and a line break; ``""`` where there is none.

    Examples:
        >>> format_thread_lines([{"role": "user", "content": "good day"}])
        'Previous conversation:\nuser: good day\n---\n'
    """
    lines = [_thread_line(member(message, "role"), member(message, "content"), flatten) for message in history]
    return "\n".join(["Previous conversation:", *lines, "---", ""]) if lines else ""


def build_rag_prompt(history_text: str, context: str, question: str) -> str:
    r"""Return a prompt made of a question and what is known.

    Args:
        history_text: what :func:`format_thread_lines` gives; ``""`` for none.
        context: lines that were recalled; ``""`` for none.
        question: what is asked.

    Returns:
        The history, the context and the question; the bare question where there is nothing else.

    Examples:
        >>> build_rag_prompt("", "[ana]: under the mat", "Where is the key?")
        'Context from memory:\n[ana]: under the mat\n\n---\nQuestion: Where is the key?'
    """
    if not history_text and not context:
        return question
    known = f"Context from memory:\n{context}\n\n---\n" if context else ""
    return f"{history_text}{known}Question: {question}"


def with_memory_block(base: str, context: str | None, heading: str | None = None) -> str:
    r"""Return a system prompt with a section of what is remembered.

    Args:
        base: the system prompt.
        context: lines that were recalled.
        heading: the section's heading; ``None`` for ``## Memory``.

    Returns:
        The prompt with the section at its end; the prompt itself where the context is blank.

    Examples:
        >>> with_memory_block("base", "- tea"), with_memory_block("base", "  ")
        ('base\n\n## Memory\n- tea', 'base')
    """
    if not context or context.isspace():
        return base
    return f"{base}\n\n{'## Memory' if heading is None else heading}\n{context}"


def indented(text: str) -> str:
    r"""Put two spaces after every line break of a text; which ones there are, ``str.splitlines`` says.

    Examples:
        >>> indented("yes\n[Ann]: I agree")
        'yes\n  [Ann]: I agree'
    """
    return _BREAK.sub(r"\g<0>  ", text)


def line_of(name: object, content: object, *, flatten: bool = True) -> str:
    r"""Return what somebody said as ``[name]: content``.

    Args:
        name: who; ``None`` for ``unknown``.
        content: what; ``None`` for nothing. What is not text is written as JSON.
        flatten: whether the content is :func:`indented`, and the name kept within its brackets: its line breaks become
            spaces, its brackets round ones.

    Examples:
        >>> line_of("ana", "good\nmorning"), line_of(None, "hi"), line_of("x]: no [ben", "yes")
        ('[ana]: good\n  morning', '[unknown]: hi', '[x): no (ben]: yes')
    """
    return f"{_bracketed('unknown' if name is None else name, flatten)}: {_content(content, flatten)}"


def labelled(label: object, content: object, *, flatten: bool = True) -> str:
    """Return a text as ``[label] content``; label, content and ``flatten`` are taken as :func:`line_of` does.

    Examples:
        >>> labelled("KB", "Rain is likely")
        '[KB] Rain is likely'
    """
    return f"{_bracketed(label, flatten)} {_content(content, flatten)}"


def bullet(content: object, *, flatten: bool = True) -> str:
    r"""Return a text as ``- content``; content and ``flatten`` are taken as :func:`line_of` does.

    Examples:
        >>> bullet("tea\n- milk"), bullet(None)
        ('- tea\n  - milk', '- ')
    """
    return f"- {_content(content, flatten)}"


def one_line(text: str) -> str:
    r"""Return a text with a space for every line break.

    Examples:
        >>> one_line("Ann\r\nLee\u2028")
        'Ann Lee '
    """
    return _BREAK.sub(" ", text)


def _bracketed(name: object, flatten: bool) -> str:
    return f"[{one_line(str(name)).translate(_ROUND) if flatten else name}]"


def _thread_line(role: object, content: object, flatten: bool) -> str:
    return f"{one_line(str(role)) if flatten else role}: {_content(content, flatten)}"


def _content(content: object, flatten: bool) -> str:
    text = content if isinstance(content, str) else "" if content is None else _json(content)
    return indented(text) if flatten else text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
