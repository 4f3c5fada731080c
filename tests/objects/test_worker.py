"""Those who work beside a program: a thread, a task, or the call that commits."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session

from ffai.errors import ClosedError
from ffai.objects.tables import Tables
from ffai.objects.vectors.async_worker import AsyncWorker
from ffai.objects.vectors.changes import Changes
from ffai.objects.vectors.kinds import Kinds
from ffai.objects.vectors.work import Work
from ffai.objects.vectors.worker import InCall, Worker, runs_beside
from ffai.testing import FakeEmbedder
from tests.objects.library import KINDS, Library, Note, create_all


class Served:
    """A library with somebody who works on its jobs."""

    def __init__(self, where, embedder=None, of=Worker) -> None:
        self.library = Library(where, embedder, on_commit=lambda: self.worker.wake())
        self.work = Work(self.library.kinds, self.library.tables)
        self.worker = of(self.library.engine, self.work)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.library.embedder.gate.set()
        self.worker.close(30)
        self.library.engine.dispose()


def test_what_was_committed_has_its_vector_after_a_wait(tmp_path):  # C21
    with Served(tmp_path / "a.db") as served:
        served.library.add(Note(id="n", text="hello"))
        assert served.worker.drain(60).left == 0
        assert served.library.vectors() == {("notes", "n", "text")}


def test_a_commit_does_not_wait_for_the_model(tmp_path):  # C22
    with Served(tmp_path / "a.db") as served:
        served.library.embedder.gate.clear()
        served.library.add(Note(id="n", text="hello"))
        assert served.worker.drain(0.01) == (0, 0, 1)
        served.library.embedder.gate.set()
        assert served.worker.drain(60) == (1, 0, 0)


def test_what_another_one_left_is_done_at_the_start(tmp_path):
    Library(tmp_path / "a.db").add(Note(id="n", text="hello"))
    with Served(tmp_path / "a.db") as served:
        assert served.worker.drain(60) == (1, 0, 0)


def test_a_failure_is_counted_and_not_waited_for(tmp_path):
    with Served(tmp_path / "a.db", FakeEmbedder(8, fail=lambda _: ValueError("no"))) as served:
        served.library.add(Note(id="n", text="hello"))
        assert served.worker.drain(60) == (0, 1, 0)


def test_a_locked_or_lost_database_ends_no_worker(tmp_path, caplog):
    with Served(tmp_path / "a.db") as served:
        served.library.tables.jobs.drop(served.library.engine)
        served.worker.wake()
        with pytest.raises(Exception, match="ai_vector_jobs"):
            served.worker.drain(0.3)
        served.library.tables.jobs.create(served.library.engine)
        served.library.add(Note(id="n", text="hello"))
        assert served.worker.drain(60).done == 1
    assert len([record for record in caplog.records if "Vectors can't be made" in record.message]) == 1


def test_it_can_be_closed_twice_and_does_nothing_after_that(tmp_path):
    with Served(tmp_path / "a.db") as served:
        assert served.worker.close(30)
        assert served.worker.close(30)
        served.library.add(Note(id="n", text="hello"))
        assert served.library.jobs()
        with pytest.raises(ClosedError):
            served.worker.drain()


def test_a_database_in_memory_is_served_by_the_call_that_commits():
    with Served(None, of=InCall) as served:
        assert not runs_beside(served.library.engine)
        served.library.add(Note(id="n", text="hello"))
        assert served.library.vectors() == {("notes", "n", "text")}
        assert served.worker.drain() == (0, 0, 0)


class AsyncServed:
    def __init__(self, where) -> None:
        self.engine = create_async_engine(f"sqlite+aiosqlite:///{where}")
        self.embedder, self.tables = FakeEmbedder(8), Tables()
        kinds = Kinds(lambda: KINDS, lambda kind: self.embedder)
        self.worker = AsyncWorker(self.engine, Work(kinds, self.tables), in_call=not runs_beside(self.engine))

        class Watched(Session):
            pass

        Changes(self.tables, kinds, self.worker.wake).watch(Watched)
        self.sessions = async_sessionmaker(self.engine, sync_session_class=Watched)

    async def __aenter__(self):
        async with self.engine.begin() as connection:
            await connection.run_sync(lambda c: create_all(c, self.tables))
        return self

    async def __aexit__(self, *_) -> None:
        self.embedder.gate.set()
        await self.worker.close(30)
        await self.engine.dispose()

    async def add(self, *records) -> None:
        async with self.sessions() as session, session.begin():
            session.add_all(records)

    async def vectors(self) -> int:
        async with AsyncSession(self.engine) as session:
            return len((await session.execute(self.tables.vectors.select())).all())


@pytest.mark.parametrize("where", ["file", "memory"])
async def test_a_task_does_the_same(tmp_path, where):
    async with AsyncServed(tmp_path / "a.db" if where == "file" else ":memory:") as served:
        await served.add(Note(id="n", text="hello"))
        if where == "file":
            assert (await served.worker.drain(60)).left == 0
        assert await served.vectors() == 1


async def test_a_commit_in_a_loop_does_not_wait_for_the_model(tmp_path):
    async with AsyncServed(tmp_path / "a.db") as served:
        served.embedder.gate.clear()
        await served.add(Note(id="n", text="hello"))
        assert await served.worker.drain(0.01) == (0, 0, 1)
        served.embedder.gate.set()
        assert await served.worker.drain(60) == (1, 0, 0)
        assert await served.worker.close(30)
        with pytest.raises(ClosedError):
            await served.worker.drain()


def test_the_next_loop_goes_on_where_the_last_one_ended(tmp_path):
    async def once(text: str) -> int:
        async with AsyncServed(tmp_path / "a.db") as served:
            await served.add(Note(id=text, text=text))
            await served.worker.drain(60)
            return await served.vectors()

    assert [asyncio.run(once("a")), asyncio.run(once("b"))] == [1, 2]
