"""The two halves of the demo, each run in a process of its own: a conversation, and recalling it."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from time import perf_counter

from ffai import FFAI
from ffai._litellm import load_litellm
from ffai.clients import LiteLLMClient
from ffai.config import Config, MemorySettings
from ffai.errors import ClientError, FFAIError

TURNS = (
    (
        "postgres_debug",
        "Let's debug the Postgres migration. The ALTER TABLE waits forever because another transaction holds a lock. "
        "What is a lock?",
    ),
    ("travel", "We fly to Lisbon in May. What is the capital of Portugal known for?"),
    ("sourdough", "My sourdough comes out flat. Why does bread rise?"),
    ("guitar", "I started to learn the guitar. How often should I practise?"),
    ("running", "My knee hurts after running. What should I do?"),
    ("garden", "Which vegetables can I plant in spring?"),
)
"""Prompt names and prompts. The small model answers these sensibly."""

QUESTIONS = (
    "the database issue from earlier",
    "why did our SQL schema change hang?",
    "my leg is sore from jogging",
    "what to do about the loaf in the oven",
    "the holiday abroad",
)

_INSTRUCTIONS = "Answer in one short sentence."
_COMMON_WORDS = frozenset(
    {"about", "and", "are", "did", "does", "for", "from", "have", "how", "our", "should", "that", "the", "this", "was"}
    | {"what", "which", "why", "with", "you"}
)


def talk(ffai: FFAI) -> None:
    """Hold the conversation, and wait until all of it is searchable."""
    for number, (name, prompt) in enumerate(TURNS, 1):
        start = perf_counter()
        reply = _asked(ffai, name, prompt)
        print(f"\n  {number}  {name}  ({perf_counter() - start:.1f} s)")
        print(_paragraph("you    ", prompt))
        print(_paragraph("model  ", first_sentence(reply)), flush=True)
    start = perf_counter()
    ffai.flush()
    print(f"\n  {len(TURNS)} turns are searchable, {perf_counter() - start:.1f} s after the last reply.")


def recall(ffai: FFAI) -> None:
    """Search for what the other process heard."""
    start = perf_counter()
    ffai.history.search("anything", top_k=1)
    print(f"  The first search loads the embedding model: {perf_counter() - start:.1f} s. From then on:")
    for question in QUESTIONS:
        start = perf_counter()
        hits = ffai.history.search(question, top_k=2)
        elapsed = perf_counter() - start
        print(f'\n  search "{question}"  ({elapsed * 1000:.0f} ms)')
        for hit in hits:
            print(f"    {hit.score:.2f}  {hit.metadata.get('prompt_name', ''):<15} {_shortened(hit.text, 76)}")
        shared = shared_words(question, hits[0].text) if hits else []
        print(f"          words in common with the first: {', '.join(shared) or 'none'}", flush=True)


def shared_words(question: str, text: str) -> list[str]:
    """Return the words that stand in both, but for short and common ones.

    Examples:
        >>> shared_words("the sore knee", "My knee hurts after the run")
        ['knee']
    """
    asked, found = (set(re.findall(r"\w{3,}", side.lower())) for side in (question, text))
    return sorted((asked & found) - _COMMON_WORDS)


def first_sentence(reply: str) -> str:
    """Return a reply up to the end of its first sentence.

    Examples:
        >>> first_sentence("Bread rises due to yeast. This process is")
        'Bread rises due to yeast. ...'
    """
    sentence, end, rest = " ".join(reply.split()).partition(". ")
    return f"{sentence}. ..." if end and rest else sentence


def _asked(ffai: FFAI, name: str, prompt: str) -> str:
    from openai import OpenAIError  # the root of litellm's errors

    try:
        return str(ffai.generate_response(prompt, prompt_name=name, max_tokens=60, temperature=0).response)
    except OpenAIError as error:
        raise ClientError(f"The chat model failed: {str(error).partition(chr(10))[0]}") from error


def _paragraph(label: str, text: str) -> str:
    return textwrap.fill(text, 96, initial_indent=f"     {label}", subsequent_indent=" " * (5 + len(label)))


def _shortened(text: str, width: int) -> str:
    return textwrap.shorten(text, width, placeholder=" ...")


def _run(arguments: argparse.Namespace) -> None:
    memory = MemorySettings(persist_dir=arguments.folder)
    key = {"api_base": arguments.api_base, "api_key": "local"} if arguments.api_base else {}
    start = perf_counter()
    with FFAI(
        LiteLLMClient(arguments.chat, key, system_instructions=_INSTRUCTIONS),
        memory_enabled=True,
        memory_persist=True,
        memory_embeddings=f"local/{arguments.embeddings}",
        config=Config(memory=memory),
    ) as ffai:
        if arguments.half == "talk":
            print(f"\n1. A conversation (process {os.getpid()})")
            start = perf_counter()
            load_litellm()
            print(f"\n  Loading LiteLLM, once in a process: {perf_counter() - start:.1f} s.")
            talk(ffai)
        else:
            print(f"\n2. Another process (process {os.getpid()}) remembers it\n")
            print(f"  {ffai.memory.count() if ffai.memory else 0} turns opened in {perf_counter() - start:.1f} s.")
            recall(ffai)


def _main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("half", choices=["talk", "recall"])
    for name in ("--folder", "--embeddings", "--chat"):
        parser.add_argument(name, required=True)
    parser.add_argument("--api-base", default="")
    try:
        _run(parser.parse_args())
    except FFAIError as error:
        print(f"ffai: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
