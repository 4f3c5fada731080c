"""Who wrote a message: its role, and filters by role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from ffai.core.arguments import check_ids
from ffai.rag.entry import value_of


class Role(StrEnum):
    """The roles a message can have.

    Examples:
        >>> Role.USER == "user", [role.value for role in Role]
        (True, ['user', 'assistant', 'system', 'tool'])
    """

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


def role_of(entry: object) -> str:
    """Return the role that a record is tagged with, as text.

    Args:
        entry: a record whose value may have ``metadata`` with a ``role``; its forms are those of
            :func:`ffai.rag.entry.value_of`.

    Returns:
        The role; ``""`` where there is none.

    Raises:
        ArgumentTypeError: it is no record.

    Examples:
        >>> role_of({"value": {"metadata": {"role": "user"}}}), role_of({"value": {"content": "tea"}})
        ('user', '')
    """
    metadata = value_of(entry).get("metadata")
    role = metadata.get("role") if isinstance(metadata, Mapping) else None
    return "" if role is None else str(role)


def role_in(roles: Iterable[str], role: str) -> bool:
    """Tell whether a role is one of several; upper and lower case differ.

    Args:
        roles: roles; a text alone is one role.
        role: the role that is looked for.

    Raises:
        ArgumentTypeError: ``roles`` are not texts.

    Examples:
        >>> role_in(["user", "tool"], "user"), role_in(["user"], "User"), role_in([], "user")
        (True, False, False)
    """
    return role in check_ids("roles", roles)


def passes_role_filter(
    entry: object, include_roles: Iterable[str] | None = None, exclude_roles: Iterable[str] | None = None
) -> bool:
    """Tell whether a record passes filters by role.

    Args:
        entry: a record; its forms are those of :func:`ffai.rag.entry.value_of`.
        include_roles: a record must have one of these; one without a role does not. ``None`` or none: no such filter.
        exclude_roles: then, a record must have none of these; one without a role passes.

    Returns:
        Whether it passes both. An empty text in a list is no role, and ignored; upper and lower case differ.

    Raises:
        ArgumentTypeError: roles are not texts, or the entry is no record.

    Examples:
        >>> untagged, answer = {"value": {}}, {"value": {"metadata": {"role": "assistant"}}}
        >>> passes_role_filter(untagged, ["user"]), passes_role_filter(untagged, None, ["assistant"])
        (False, True)
        >>> passes_role_filter(answer, ["user", "assistant"]), passes_role_filter(answer, None, ["assistant"])
        (True, False)
    """
    role = role_of(entry)
    included, excluded = _roles("include_roles", include_roles), _roles("exclude_roles", exclude_roles)
    return (not included or role in included) and role not in excluded


def _roles(name: str, roles: Iterable[str] | None) -> frozenset[str]:
    return frozenset() if roles is None else check_ids(name, roles) - {""}
