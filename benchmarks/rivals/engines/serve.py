"""One engine in a process of its own: it loads vectors, then answers what its standard input asks.

Run: ``python serve.py ENGINE ROWS.npy QUERIES.npy SECONDS``, with the interpreter of the engine's environment. This
folder is all it finds of this repository. After so many seconds of work the system ends it; 0 is for ever.

Times are processor time of the whole process: on one core of an idle machine that is how long a search takes, and what
else runs weighs little. Requests and answers are lines:

    add             {"seconds": 1.2}
    search 10 5     {"microseconds": [...], "rows": [[...], ...]}: for the queries 10 to 14
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from typing import Any

import numpy as np

TOP_K = 10


def processor_time() -> float:
    """Return the seconds this process has worked."""
    # time.process_time stands still for milliseconds in a process with a limit
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def answer(engine: Any, queries: Any, request: str) -> dict[str, Any]:
    """Do what one line asks."""
    first, count = (int(number) for number in request.split()[1:])
    microseconds, rows = [], []
    for query in queries[first : first + count]:
        start = processor_time()
        found = engine.search(query, TOP_K)
        microseconds.append((processor_time() - start) * 1e6)
        rows.append([int(row) for row in found])
    return {"microseconds": microseconds, "rows": rows}


def add(engine: Any, rows: Any) -> dict[str, Any]:
    start = processor_time()
    engine.add(rows)
    return {"seconds": processor_time() - start}


def main(name: str, rows_file: str, queries_file: str, limit: str) -> None:
    if int(limit):
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # some engines print
    if hasattr(os, "sched_setaffinity"):  # the same core for all: some engines start threads that no variable limits
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    queries = np.load(queries_file)
    engine = importlib.import_module(name).Engine(queries.shape[1])
    for line in sys.stdin:
        done = add(engine, np.load(rows_file)) if line.strip() == "add" else answer(engine, queries, line)
        print(json.dumps(done), file=answers, flush=True)
    os._exit(0)  # tearing down some engines takes longer than a round


if __name__ == "__main__":
    main(*sys.argv[1:])
