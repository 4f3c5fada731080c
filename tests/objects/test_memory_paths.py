"""Scopes are paths: compared by whole parts, exactly, the same in Python and in the database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Engine, MetaData, String, Table, create_engine, delete, insert, select

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.memory.paths import ancestors, check_key, check_scope, within

part = st.text(alphabet="aAbB_%.\\*?[é☕😀ßẞ", min_size=1, max_size=3)
scopes = st.lists(part, min_size=1, max_size=4).map("/".join)

TABLE = Table("scopes_tried", MetaData(), Column("scope", String(255), nullable=False))


def is_below(scope: str, above: str) -> bool:
    return scope.split("/")[: above.count("/") + 1] == above.split("/")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = create_engine("sqlite://" if request.param == "sqlite" else request.getfixturevalue("postgres"))
    TABLE.metadata.create_all(made)
    yield made
    TABLE.metadata.drop_all(made)
    made.dispose()


@settings(max_examples=60, deadline=None)
@given(stored=st.lists(scopes, max_size=8, unique=True), above=scopes)
def test_the_database_finds_the_same_descendants_as_whole_parts_say(
    engine: Engine, stored: list[str], above: str
) -> None:
    with engine.begin() as connection:
        connection.execute(delete(TABLE))
        related = {above, above + "/x", above + "x", above.swapcase() + "/y", *stored}
        connection.execute(insert(TABLE), [{"scope": scope} for scope in related])
        found = set(connection.scalars(select(TABLE.c.scope).where(within(TABLE.c.scope, above, descendants=True))))
        same = set(connection.scalars(select(TABLE.c.scope).where(within(TABLE.c.scope, above, descendants=False))))
    assert found == {scope for scope in related if is_below(scope, above)}
    assert same == {above}


@given(scopes)
def test_every_scope_is_below_those_above_it(scope: str) -> None:
    above = ancestors(scope)
    assert above[-1:] == ([] if scope == "global" else ["global"])
    assert all(is_below(scope, each) for each in above if each != "global")
    assert len(above) == len(set(above))


@given(scopes)
def test_a_checked_scope_stays_as_it_is(scope: str) -> None:
    assert check_scope(f"/{scope}//") == scope == check_scope(scope)


@pytest.mark.parametrize(
    ("scope", "above"),
    [
        ("a/b/c", ["a/b", "a", "global"]),
        ("a", ["global"]),
        ("global", []),
        ("global/x", ["global"]),
        ("global/x/y", ["global/x", "global"]),
    ],
)
def test_what_lies_above_a_scope(scope: str, above: list[str]) -> None:
    assert ancestors(scope) == above


@pytest.mark.parametrize("scope", ["", "/", "///", "a//b", "a/ /b", " ", "a\x00b", "\udc00", "x" * 256])
def test_a_scope_that_is_none_is_refused(scope: str) -> None:
    with pytest.raises(InvalidArgumentError, match="scope"):
        check_scope(scope)


@pytest.mark.parametrize("value", [None, 5, b"a", ["a"]])
def test_what_is_no_text_is_neither_scope_nor_key(value: object) -> None:
    with pytest.raises(ArgumentTypeError):
        check_scope(value)
    with pytest.raises(ArgumentTypeError):
        check_key(value)


def test_the_longest_scope_and_key_are_taken() -> None:
    assert check_scope("x" * 255) == check_key("x" * 255) == "x" * 255


def test_a_key_keeps_its_slashes_and_blanks() -> None:
    assert check_key(" /a//b/ ") == " /a//b/ "
