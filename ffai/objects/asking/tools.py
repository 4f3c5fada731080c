"""Methods of records that a model may call: which they are, and what it is told about them."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.asking.scrubber import REMOVED, hidden_names
from ffai.objects.declaration import AI

if TYPE_CHECKING:
    from pydantic import BaseModel

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__ai_tool__"
_KEPT = "__ai_tools__"
_VALUES = ("default", "const", "enum", "examples")
"""Keys of a schema whose value is any JSON."""


@dataclass(frozen=True, slots=True)
class ToolMark:
    """What `ai_tool` says about a method."""

    read_only: bool = False
    description: str | None = None


@overload
def ai_tool(method: F) -> F: ...
@overload
def ai_tool(*, read_only: bool = False, description: str | None = None) -> Callable[[F], F]: ...
def ai_tool(method: F | None = None, *, read_only: bool = False, description: str | None = None) -> Any:
    """Mark a method of a record as one that a model may call.

    What it may call while it does something is any of them; while it answers a question or describes, those that are
    ``read_only``. A model is told the name, the first paragraph of the docstring and the parameters with their types.

    Args:
        method: a function in the class's body; a coroutine function where records are asked with ``await``.
        read_only: it changes nothing.
        description: what a model is told in place of the docstring.

    Raises:
        ArgumentTypeError: it is no function.
        InvalidArgumentError: its name begins with an underscore.

    Examples:
        >>> class Article:
        ...     @ai_tool(read_only=True)
        ...     def words(self) -> int:
        ...         '''Count the words.'''
        ...         return 7
        >>> tools_of(Article)["words"].definition["function"]["description"]
        'Count the words.'
    """
    mark = ToolMark(read_only, description)

    def marked(method: F) -> F:
        if not isinstance(method, FunctionType):
            raise ArgumentTypeError(f"@ai_tool marks a method, written with def, not {type(method).__name__}.")
        if method.__name__.startswith("_"):
            raise InvalidArgumentError(f"{method.__name__} is private: no model may call it. Take @ai_tool away.")
        setattr(method, _MARK, mark)
        return method

    return marked if method is None else marked(method)


class Refused(Exception):  # noqa: N818 - what it is called where it is caught
    """A call that is not made; the message is for the model."""


@dataclass(frozen=True)
class Tool:
    """One method that a model may call."""

    name: str
    description: str
    read_only: bool
    arguments: type[BaseModel]
    """Its parameters as fields, their names as aliases."""
    positional: frozenset[str]
    """Parameters that have to be given without their names."""

    @cached_property
    def definition(self) -> dict[str, Any]:
        """What a model is told."""
        parameters = _untitled(_schema(self.arguments))
        parameters.setdefault("properties", {})
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }

    def read(self, arguments: str) -> BaseModel:
        """Return the arguments that a model wrote.

        Raises:
            Refused: they are no JSON object, or none that the method takes.
        """
        from pydantic import ValidationError

        try:
            given = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise Refused(f"The arguments are no JSON: {error}.") from error
        if not isinstance(given, dict):
            raise Refused(f"The arguments must be a JSON object, not {json.dumps(given):.80}.")
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            told = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems[:10])
            raise Refused(f"The arguments don't fit: {told}.") from error

    def call(self, record: object, arguments: BaseModel) -> Any:
        """Call the method; what is not given has the default of its own."""
        fields = type(arguments).model_fields
        named = {str(told.alias): getattr(arguments, name) for name, told in fields.items()}
        given = {str(fields[name].alias) for name in arguments.model_fields_set}
        in_order = [value for name, value in named.items() if name in self.positional]
        by_name = {name: value for name, value in named.items() if name in given - self.positional}
        return getattr(record, self.name)(*in_order, **by_name)


def tools_of(kind: type[Any]) -> Mapping[str, Tool]:
    """Return the methods of a class that a model may call: marked ones, and those in ``AI(callable=...)``.

    Raises:
        InvalidArgumentError: a name is unknown, private or that of no method, or a parameter has a type of which there
            is no JSON.
        SensitiveFieldError: a parameter is called as a sensitive field is.

    Examples:
        >>> class Article:
        ...     __ai__ = AI(callable=["flag"], descriptions={"flag": "Mark it for review."})
        ...     def flag(self, reason: str) -> None: ...
        >>> tools_of(Article)["flag"].definition["function"]["parameters"]["required"]
        ['reason']
    """
    kept: Mapping[str, Tool] | None = vars(kind).get(_KEPT)
    if kept is not None:
        return kept
    ai = getattr(kind, "__ai__", None)
    ai = ai if isinstance(ai, AI) else AI()
    if isinstance(ai.callable, str):
        raise ArgumentTypeError(f"{kind.__name__}: AI(callable=...) must be a list of names, not {ai.callable!r}.")
    names = list(dict.fromkeys((*_marked_names(kind), *ai.callable)))
    if unknown := [name for name in ai.descriptions if name not in names]:
        raise InvalidArgumentError(
            f"{kind.__name__}: AI(descriptions=...) names {unknown[0]!r:.100}, which no model may call; "
            f"there are {', '.join(names) or 'no such methods'}."
        )
    tools = {name: _tool(kind, name, ai.descriptions.get(name)) for name in names}
    if tools:
        type.__setattr__(kind, _KEPT, tools)
    return tools


def _marked_names(kind: type[Any]) -> Iterator[str]:
    for one in reversed(kind.__mro__):
        for name, value in vars(one).items():
            # What the class itself has under the name counts: it may have taken the mark away.
            if _mark_of(value) is not None and _mark_of(inspect.getattr_static(kind, name)) is not None:
                yield name


def _mark_of(value: object) -> ToolMark | None:
    inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    mark = getattr(inner, _MARK, None) if isinstance(inner, FunctionType) else None
    return mark if isinstance(mark, ToolMark) else None


def _tool(kind: type[Any], name: str, description: str | None) -> Tool:
    method = inspect.getattr_static(kind, name, None) if isinstance(name, str) else None
    if not isinstance(method, FunctionType) or name.startswith("_"):
        problem = "there is no such name" if method is None else "it is private or no method of an object"
        raise InvalidArgumentError(f"{kind.__name__}: no model may call {name!r:.100}: {problem}.")
    mark = _mark_of(method) or ToolMark()
    documented = " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split())
    told = description or mark.description or documented or f"Call {name} of this {kind.__name__}."
    arguments, positional = _arguments(kind, name, method)
    return Tool(name, _without(hidden_names(kind), told), mark.read_only, arguments, positional)


def _without(names: frozenset[str], text: str) -> str:
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b", REMOVED, text) if names else text


def _arguments(kind: type[Any], name: str, method: FunctionType) -> tuple[type[BaseModel], frozenset[str]]:
    """Return the parameters of a method as a pydantic class, and those that have no name for a caller."""
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [one for one in list(inspect.signature(method).parameters.values())[1:] if one.kind not in many]
    if secret := sorted({parameter.name for parameter in parameters} & hidden_names(kind)):
        raise SensitiveFieldError(secret[0], kind.__name__, f"a parameter of {name}, which a model may call")
    empty = inspect.Parameter.empty
    try:
        types = _types(method, {one.name: Any if one.annotation is empty else one.annotation for one in parameters})
        # A field can't be called as the methods of pydantic are; an alias can.
        fields = {
            f"argument_{at}": (types[one.name], Field(... if one.default is empty else one.default, alias=one.name))
            for at, one in enumerate(parameters)
        }
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]
        _schema(model)
    except (NameError, TypeError, PydanticUserError) as error:
        raise InvalidArgumentError(
            f"{kind.__name__}.{name} can't be called by a model: its parameters need types that JSON has. {error}"
        ) from error
    return model, frozenset(one.name for one in parameters if one.kind is one.POSITIONAL_ONLY)


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class Quiet(GenerateJsonSchema):
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic has it

    return model.model_json_schema(schema_generator=Quiet)


def _types(method: FunctionType, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of parameters; what the method returns may be a name that only type checkers know."""
    holder: Any = SimpleNamespace(__annotations__=dict(annotations))
    return typing.get_type_hints(holder, globalns=inspect.unwrap(method).__globals__, include_extras=True)


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that pydantic makes of names."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in _VALUES and not isinstance(value, dict) else _untitled(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
