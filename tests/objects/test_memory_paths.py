"""Scopes are paths: compared by whole parts, exactly, the same in Python and in the database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Engine, MetaData, String, Table, create_engine, delete, insert, select

from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.objects.memory_paths import ancestors, check_key, check_scope, within

part = st.text(alphabet="aAbB_%.\\*?[é☕😀ßẞ", min_size=1, max_size=3)
scopes = st.lists(part, min_size=1, max_size=4).map("/".join)

TABLE = Table("scopes_tried", MetaData(), Column("scope", String(255), nullable=False))


def is_below(scope: str, above: str) -> bool:
    return scope.split("/")[: above.count("/") + 1] == above.split("/")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
