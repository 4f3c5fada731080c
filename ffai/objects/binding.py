"""Which store a record belongs to: that of its session, and afterwards the one that it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import event
from sqlalchemy import inspect as inspected
from sqlalchemy.orm import InstanceState, Session, object_session

from ffai.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from ffai.objects.async_store import AsyncStore
    from ffai.objects.store import Store

_STORE = "ffai.store"
_came_from: WeakKeyDictionary[InstanceState[Any], Any] = WeakKeyDictionary()
"""The store of each record that lives, also of one whose session is closed."""


def bind(store: Store | AsyncStore) -> dict[str, Any]:
    """Return what the ``info`` of a session says, so that its records belong to a store."""
    return {_STORE: store}


def store_of_session(session: Session) -> Any:
    """Return the store of a session, or ``None``."""
    return session.info.get(_STORE)


def check_unbound(session: Session) -> None:
    """Refuse a session that belongs to a store already.

    Raises:
        ArgumentTypeError: it does.
    """
    if store_of_session(session) is not None:
        raise ArgumentTypeError(
            "This session belongs to another store. A session has one: its vectors and memories are in one database."
        )


def came_from(record: object, store: Store | AsyncStore) -> None:
    """Note the store of a record that is in no session."""
    _came_from[inspected(record)] = store


def store_of(record: object) -> Any:
    """Return the store that a record belongs to.

    Raises:
        ArgumentTypeError: it is not a mapped object.
        InvalidArgumentError: it belongs to none.
    """
    state = inspected(record, raiseerr=False)
    if not isinstance(state, InstanceState):
        raise ArgumentTypeError(f"{type(record).__name__} {record!r:.80} is no record of a mapped class.")
    session = object_session(record)
    store = (store_of_session(session) if session is not None else None) or _came_from.get(state)
    if store is None:
        raise InvalidArgumentError(
            f"This {type(record).__name__} belongs to no store. Get it from store[{type(record).__name__}], add it to "
            "a store.session(), or attach your own sessions: store.attach(sessionmaker)."
        )
    return store


def waiting_store_of(record: object) -> Store:
    """Return the store of a record, for a call that waits.

    Raises:
        ArgumentTypeError: it belongs to an `AsyncStore`; names the awaited way.
    """
    from ffai.objects.store import Store

    store = store_of(record)
    if not isinstance(store, Store):
        raise ArgumentTypeError(
            f"This {type(record).__name__} belongs to an AsyncStore. Await the method of the same name of its `aio`: "
            "await record.aio.describe()."
        )
    return store


def awaited_store_of(record: object) -> AsyncStore:
    """Return the store of a record, for a call that is awaited.

    Raises:
        ArgumentTypeError: it belongs to a `Store`, whose database can't be awaited.
    """
    from ffai.objects.async_store import AsyncStore

    store = store_of(record)
    if not isinstance(store, AsyncStore):
        raise ArgumentTypeError(
            f"This {type(record).__name__} belongs to a Store, whose engine waits. Call its methods without `aio`, or "
            "use an AsyncStore with an async engine."
        )
    return store


def remember_stores(target: Any) -> None:
    """Let the records of sessions remember their store when their session is closed.

    Args:
        target: a class of sessions, a ``sessionmaker`` or a session.
    """

    def note(session: Session, record: object) -> None:
        store = store_of_session(session)
        if store is not None:
            _came_from[inspected(record)] = store

    event.listen(target, "after_attach", note)
    event.listen(target, "loaded_as_persistent", note)
