"""Who asks: a question in the first person, asked in the third."""

from __future__ import annotations

import re

_FORMS = {
    "i am": "{} is",
    "i'm": "{} is",
    "am i": "is {}",
    "i have": "{} has",
    "i've": "{} has",
    "have i": "has {}",
    "i": "{}",
    "me": "{}",
    "myself": "{}",
    "my": "{}'s",
    "mine": "{}'s",
}
_FIRST_PERSON = re.compile(rf"\b({'|'.join(sorted(_FORMS, key=len, reverse=True))})\b", re.IGNORECASE)


def in_the_third_person(query: str, name: str) -> str:
    """Put a name in the place of the English words for the one who speaks.

    Examples:
        >>> in_the_third_person("What do I like, and where is my key?", "Alice")
        "What do Alice like, and where is Alice's key?"
    """
    plain = query.replace("\u2019", "'")
    return _FIRST_PERSON.sub(lambda found: _FORMS[found[1].lower()].format(name), plain)
