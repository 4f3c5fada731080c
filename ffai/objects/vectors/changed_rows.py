"""The rows that changes of one class's records lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import ClauseElement, update

from ffai.objects.declaration import declared_of, mapper_of
from ffai.objects.owner import key_of
from ffai.objects.vectors.embedding import columns_embedded, hash_of, texts_of
from ffai.objects.vectors.jobs import Key, add_jobs
from ffai.objects.vectors.record_texts import Texts, texts_in
from ffai.objects.vectors.rows import delete_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ffai.objects.tables import Tables

Identity = tuple[Any, ...]


class Changed:
    """What changed in records of one class.

    Attributes:
        kind: the class.
        mapper: of it.
        owner_type: what its records are filed under.
        columns: the attributes that make its texts.
        new: the keys of records that were added.
        deleted: those of records that were deleted.
        moved: the keys before and after, of records that got another one.
        texts: of records with a new text: their key, the attributes that changed, and the values in hand.
    """

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind
        self.mapper = mapper_of(kind)
        self.declared = declared_of(kind)
        self.owner_type = self.declared.owner_type
        self.columns = columns_embedded(self.declared) if self.declared.ai.embedded else []
        self.new: list[Identity] = []
        self.deleted: list[Identity] = []
        self.moved: list[tuple[Identity, Identity]] = []
        self.texts: list[tuple[Identity, Collection[str], Mapping[str, Any]]] = []

    def __bool__(self) -> bool:
        return bool(self.new or self.deleted or self.moved or self.texts)

    def made_of(self, field: str) -> set[str]:
        """Return the attributes that a field's text is made of."""
        template = self.declared.embedded.combined.get(field)
        return {field} if template is None else set(template.names)


def write_changes(connection: Connection, tables: Tables, changed: Changed, generates: bool, now: float) -> bool:
    """Write what changes of records mean for the tables beside them.

    Args:
        connection: within the transaction of the changes, which are written already.
        tables: where vectors, jobs and memories are.
        changed: what changed.
        generates: whether changed texts become jobs.
        now: the time.

    Returns:
        Whether jobs were written.
    """

    def key(identity: Identity) -> str:
        return key_of(changed.kind, identity, connection.dialect)

    gone = {*map(key, changed.deleted), *map(key, changed.new), *(key(new) for _, new in changed.moved)}
    forget_owners(connection, tables, changed.owner_type, gone)
    for before, after in changed.moved:
        _move(connection, tables, changed.owner_type, key(before), key(after))
    wanted = {key(identity): (names, values) for identity, names, values in changed.texts}
    if not wanted:
        return False
    incomplete = [owner for owner, (_, values) in wanted.items() if not _has_all(values, changed.columns)]
    stored = texts_in(connection, changed.kind, incomplete) if incomplete else {}
    texts: dict[str, Texts] = {}
    for owner, (names, values) in wanted.items():
        all_texts = texts_of(changed.declared, values) if owner not in incomplete else stored.get(owner, {})
        texts[owner] = {name: text for name, text in all_texts.items() if changed.made_of(name) & set(names)}
    return want_texts(connection, tables, changed.owner_type, texts, generates, now, new=set(map(key, changed.new)))


def want_texts(
    connection: Connection,
    tables: Tables,
    owner_type: str,
    texts: Mapping[str, Texts],
    generates: bool,
    now: float,
    *,
    new: Collection[str] = (),
) -> bool:
    """Note which texts are to be embedded; those that are blank have no vector and no job any more.

    Args:
        connection: within the transaction of the changes.
        tables: where vectors and jobs are.
        owner_type: what the records are filed under.
        texts: the texts that changed, by the records' keys.
        generates: whether they become jobs.
        now: the time.
        new: keys of records that have no vectors yet.

    Returns:
        Whether jobs were written.
    """
    blank: dict[str, list[str]] = {}
    jobs: dict[Key, str] = {}
    for owner, fields in texts.items():
        for field, text in fields.items():
            if text is not None:
                jobs[owner_type, owner, field] = hash_of(text)
            elif owner not in new:
                blank.setdefault(field, []).append(owner)
    for field, owners in sorted(blank.items()):
        for table in (tables.jobs, tables.vectors):  # in this order, as the worker does
            delete_of(connection, table, owner_type, owners, field)
    if not generates:
        return False
    add_jobs(connection, tables, jobs, now)
    return bool(jobs)


def forget_owners(connection: Connection, tables: Tables, owner_type: str, owners: Collection[str]) -> None:
    """Delete the jobs, vectors and memories of records: those that are gone, or were there before new ones."""
    if owners:
        for table in (tables.jobs, tables.vectors, tables.memories):
            delete_of(connection, table, owner_type, owners)


def _move(connection: Connection, tables: Tables, owner_type: str, before: str, after: str) -> None:
    for table in (tables.jobs, tables.vectors, tables.memories):
        mine = table.c.owner_type == owner_type, table.c.owner_id == before
        connection.execute(update(table).where(*mine).values(owner_id=after))


def _has_all(values: Mapping[str, Any], columns: Collection[str]) -> bool:
    return all(name in values and not isinstance(values[name], ClauseElement) for name in columns)
