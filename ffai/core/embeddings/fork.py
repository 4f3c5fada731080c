"""What a forked child must get anew: locks whose holders it does not have, models whose threads it does not have."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """Something that puts itself in order in a forked child."""

    def renew_after_fork(self) -> None:
        """Replace what does not survive a fork. Called in the child, before any other thread exists there."""
        ...


_renewables: WeakSet[Renewable] = WeakSet()


def renew_after_fork(owner: Renewable) -> None:
    """Call ``owner.renew_after_fork()`` in every child that this process forks, as long as the owner lives.

    Example:
        >>> class Owner:
        ...     def renew_after_fork(self) -> None: ...
        >>> owner = Owner()
        >>> renew_after_fork(owner)
    """
    _renewables.add(owner)


def _renew_all() -> None:
    for owner in list(_renewables):
        owner.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
