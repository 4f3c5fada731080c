"""Many who remember and report at once: nothing is lost, and nobody is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import ColumnElement, Engine, create_engine, event, insert, true
from sqlalchemy.ext.asyncio import create_async_engine

from ffai.objects.memory.learning import LearningMemory
from ffai.objects.memory.record_memory import RecordMemory
from ffai.objects.tables import Tables
from tests.objects.memory_places import Article, Clock

A = Article(id="a-1")
THREADS = 20


@pytest.fixture(params=["sqlite", "sqlite-wal", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("empty_postgres").render_as_string(hide_password=False))
    path = tmp_path / "app.db"
    if request.param == "sqlite-wal":
        with create_engine(f"sqlite:///{path}").connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
    return f"sqlite:///{path}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = create_engine(url)
    memories = Tables().memories
    memories.drop(made, checkfirst=True)
    memories.create(made)
    yield made
    memories.drop(made)
    made.dispose()


def together(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Do work on many threads at once; return what each gave."""
    start, results = threading.Barrier(count), [None] * count

    def one(number: int) -> None:
        start.wait()
        try:
            results[number] = work(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result for result in results if isinstance(result, Exception)] == []
    return results


def test_of_outcomes_reported_at_once_every_one_counts(engine: Engine) -> None:
    learning = LearningMemory(RecordMemory(engine), A)
    together(lambda number: learning.capture("s", "k", number, success=True))
    (found,) = learning.recall("s")
    assert (found.success_count, found.failure_count) == (THREADS, 0)
    assert found.confidence == pytest.approx(1 - 0.1 * 0.5 ** (THREADS - 1))


def test_successes_and_failures_at_once_all_count(engine: Engine) -> None:
    learning = LearningMemory(RecordMemory(engine), A, min_confidence=0)
    together(lambda number: learning.capture("s", "k", number, success=number % 2 == 0))
    (found,) = learning.recall("s")
    assert (found.success_count, found.failure_count) == (THREADS / 2, THREADS / 2)
    assert 0 < found.confidence <= 1


def test_an_expired_value_is_learned_anew_by_one_and_counted_by_the_others(engine: Engine) -> None:
    clock = Clock()
    memory = RecordMemory(engine, clock=clock)
    learning = LearningMemory(memory, A, clock=clock)
    memory.remember(A, "s", "k", "old", expires_in=1)
    clock.now += 2
    together(lambda number: learning.capture("s", "k", number, success=True))
    assert learning.recall("s")[0].success_count == THREADS


def test_one_memory_that_is_written_at_once_is_one_row(engine: Engine) -> None:
    memory = RecordMemory(engine)
    together(lambda number: memory.remember(A, "s", "k", number))
    (entry,) = memory.entries(A)
    assert entry.value in range(THREADS)


def test_what_is_remembered_meanwhile_touches_no_count(engine: Engine) -> None:
    memory = RecordMemory(engine)
    learning = LearningMemory(memory, A, min_confidence=0)
    memory.remember(A, "s", "k", "v")
    together(
        lambda number: learning.capture("s", "k", success=True) if number % 2 else memory.remember(A, "s", "k", number)
    )
    assert learning.recall("s")[0].success_count == THREADS / 2


def test_who_reads_keeps_nobody_from_writing(engine: Engine) -> None:
    memory = RecordMemory(engine)
    memory.remember(A, "s", "k", 1)
    with engine.connect() as reader:
        reader.execute(Tables().memories.select()).all()
        memory.remember(A, "s", "k", 2)
    assert memory.recall(A, "s", "k") == 2


async def test_outcomes_of_tasks_at_once_all_count(url: str, engine: Engine) -> None:
    waiting = create_async_engine(url.replace("sqlite:", "sqlite+aiosqlite:"))
    learning = LearningMemory(RecordMemory(waiting), A)
    await asyncio.gather(*(learning.acapture("s", "k", number, success=True) for number in range(THREADS)))
    (found,) = await learning.arecall("s")
    assert found.success_count == THREADS
    assert found.confidence == pytest.approx(1 - 0.1 * 0.5 ** (THREADS - 1))
    await waiting.dispose()


async def test_tasks_that_share_one_connection_lose_no_outcome() -> None:
    waiting = create_async_engine("sqlite+aiosqlite://")
    await (memory := RecordMemory(waiting)).acreate_all()
    learning = LearningMemory(memory, A)
    await asyncio.gather(*(learning.acapture("s", "k", number, success=True) for number in range(THREADS)))
    (found,) = await learning.arecall("s")
    assert found.success_count == THREADS
    assert found.confidence == pytest.approx(1 - 0.1 * 0.5 ** (THREADS - 1))
    await waiting.dispose()


class All:
    """A rule that hides nothing, and yet has to look."""

    def condition(self, kind: type) -> list[ColumnElement[bool]]:
        return [true()]

    def tenant(self, kind: type) -> str:
        return "t"


def test_under_a_rule_too_outcomes_reported_at_once_all_count(engine: Engine) -> None:
    Article.metadata.drop_all(engine)
    Article.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(Article).values(id="a-1"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
        engine.dispose()
    learning = LearningMemory(RecordMemory(engine, tenancy=All()), A)
    together(lambda number: learning.capture("s", "k", number, success=True))
    assert learning.recall("s")[0].success_count == THREADS


REPORTER = """
import sys
from sqlalchemy import create_engine
from ffai.objects.memory.learning import LearningMemory
from ffai.objects.memory.record_memory import RecordMemory
from tests.objects.memory_places import Article

learning = LearningMemory(RecordMemory(create_engine(sys.argv[1])), Article(id="a-1"))
for _ in range(25):
    learning.capture("s", "k", "v", success=True)
"""


def test_outcomes_of_several_processes_all_count(url: str, engine: Engine) -> None:
    reporters = [subprocess.Popen([sys.executable, "-c", REPORTER, url]) for _ in range(4)]
    assert [reporter.wait(timeout=100) for reporter in reporters] == [0] * 4
    (found,) = LearningMemory(RecordMemory(engine), A).recall("s")
    assert found.success_count == 100


def test_a_walk_through_the_scopes_above_is_one_question(engine: Engine) -> None:
    memory = RecordMemory(engine)
    memory.remember(A, "a", "k", 1)
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
    assert memory.recall(A, "a/b/c/d/e/f", "k", include_ancestors=True) == 1
    assert memory.recall_all(A, "a", include_descendants=True) == {"k": 1}
    assert len([statement for statement in asked if "ai_memories" in statement]) == 2
