"""Filters by role: the cases of the contract, and what they leave open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.errors import ArgumentTypeError
from ffai.rag.entry import MemoryEntry
from ffai.rag.roles import Role, passes_role_filter, role_in, role_of

some_roles = st.lists(st.sampled_from(["user", "assistant", "system", "tool", "User", ""]), max_size=4)
any_role = st.sampled_from(["user", "assistant", "system", "tool", "User", None])


def tagged(role: object) -> MemoryEntry:
    return MemoryEntry("17:m0", {"content": "hello", "metadata": {} if role is None else {"role": role}})


def test_case_9_a_role_that_is_missing_at_any_level_is_no_role():
    assert role_of(tagged("user")) == "user"
    assert role_of({"key": "k", "value": {"metadata": None}}) == ""
    assert role_of({"key": "k", "value": {"content": "hello"}}) == ""
    assert role_of({"key": "k", "value": {"metadata": {"role": None}}}) == ""
    assert role_of({"key": "k", "value": None}) == ""
    assert role_of({}) == ""


def test_case_10_to_include_a_role_drops_all_others_and_those_without_one():
    passed = [passes_role_filter(tagged(role), ["user"]) for role in ("user", "assistant", None, "User")]
    assert passed == [True, False, False, False]


def test_case_11_to_exclude_a_role_lets_those_without_one_pass():
    passed = [passes_role_filter(tagged(role), None, ["assistant"]) for role in ("user", "assistant", None)]
    assert passed == [True, False, True]


def test_a_role_of_another_type_is_compared_as_text():
    assert role_of(tagged(5)) == "5"
    assert role_of(tagged(Role.TOOL)) == "tool"
    assert passes_role_filter(tagged(5), ["5"])


def test_a_role_alone_is_one_role_and_not_its_letters():
    assert passes_role_filter(tagged("user"), "user")
    assert passes_role_filter(tagged("user"), None, "superuser")
    assert not role_in("superuser", "user")


def test_membership_is_exact():
    assert role_in([Role.USER], "user")
    assert not role_in(["user"], "User")
    assert not role_in([], "")
    assert role_in([""], "")


@pytest.mark.parametrize("roles", [5, [None], [5], {"user": 1}])
def test_roles_that_are_not_texts_are_refused(roles):
    with pytest.raises(ArgumentTypeError, match="include_roles"):
        passes_role_filter(tagged("user"), roles)


@given(any_role, some_roles, some_roles)
def test_both_filters_must_be_passed(role, included, excluded):
    entry = tagged(role)
    both = passes_role_filter(entry, included, excluded)
    assert both == (passes_role_filter(entry, included) and passes_role_filter(entry, None, excluded))


@given(any_role, some_roles, some_roles)
def test_an_empty_text_in_a_list_changes_nothing(role, included, excluded):
    entry = tagged(role)
    assert passes_role_filter(entry, [*included, ""], [*excluded, ""]) == passes_role_filter(entry, included, excluded)


@given(any_role)
def test_without_filters_everything_passes(role):
    assert passes_role_filter(tagged(role))
    assert passes_role_filter(tagged(role), [], [])
