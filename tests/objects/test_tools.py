"""Methods of records that a model may call."""

import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from ffai.errors import ArgumentTypeError, InvalidArgumentError, SensitiveFieldError
from ffai.objects.asking.tools import ai_tool, tools_of
from ffai.objects.declaration import AI
from tests.objects.asked import Article, Memo


def parameters(kind: type[Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = tools_of(kind)[name].definition["function"]["parameters"]
    return found


def test_marked_and_named_methods_are_tools_and_no_others() -> None:
    assert list(tools_of(Article)) == [
        "flag_for_review",
        "words",
        "touch",
        "leak",
        "fail",
        "publish_later",
        "publish",
    ]
    assert [name for name, tool in tools_of(Article).items() if tool.read_only] == ["words"]
    assert list(tools_of(Memo)) == ["finish"]
    assert tools_of(dict) == {}


def test_a_definition_has_the_name_the_first_paragraph_and_a_schema() -> None:
    assert tools_of(Article)["flag_for_review"].definition == {
        "type": "function",
        "function": {
            "name": "flag_for_review",
            "description": "Mark the article for human review.",
            "parameters": {
                "type": "object",
                "properties": {"reason": {"type": "string"}},
                "required": ["reason"],
                "additionalProperties": False,
            },
        },
    }
    assert parameters(Article, "words")["properties"] == {
        "least": {"type": "integer", "default": 1},
        "kind": {"type": "string", "enum": ["all", "long"], "default": "all"},
    }
    assert "required" not in parameters(Article, "words")
    assert parameters(Article, "touch") == {"type": "object", "properties": {}, "additionalProperties": False}


def test_descriptions_are_the_ones_declared_and_name_no_secret_field() -> None:
    told = {name: tool.description for name, tool in tools_of(Article).items()}
    assert told["words"] == "Count the words of the body."
    assert told["publish"] == "Publish it; needs no [removed]."
    assert told["leak"] == "Call leak of this Article."


class Address(BaseModel):
    street: str
    title: str = ""


class Shop:
    @ai_tool
    def move(
        self,
        to: Address,
        first: int,
        /,
        title: Annotated[str, Field(description="What is on the sign.", max_length=5)],
        *more: str,
        copy: bool = False,
        model_name: "str | None" = None,
        since=None,
        odd: Any = object(),  # noqa: B008
        **rest: Any,
    ) -> "NameThatOnlyTypeCheckersKnow":  # noqa: F821  # type: ignore[name-defined]
        return to, first, title, copy, model_name, since


def test_parameters_may_have_any_name_kind_and_type() -> None:
    tool = tools_of(Shop)["move"]
    schema = parameters(Shop, "move")
    assert list(schema["properties"]) == ["to", "first", "title", "copy", "model_name", "since", "odd"]
    assert schema["required"] == ["to", "first", "title"]
    assert schema["properties"]["title"] == {
        "type": "string",
        "description": "What is on the sign.",
        "maxLength": 5,
    }
    assert "title" in schema["$defs"]["Address"]["properties"]
    given = {"to": {"street": "High St"}, "first": "3", "title": "Tea", "copy": True}
    result = tool.call(Shop(), tool.read(json.dumps(given)))
    assert result == (Address(street="High St"), 3, "Tea", True, None, None)


def test_what_the_class_has_itself_counts() -> None:
    class Quiet(Shop):
        def move(self) -> None:  # type: ignore[override]
            """No tool any more."""

    class Loud(Shop):
        @ai_tool(read_only=True)
        def move(self) -> None:  # type: ignore[override]
            """A tool still."""

    assert tools_of(Quiet) == {}
    assert tools_of(Loud)["move"].read_only


def declared(**ai: Any) -> type[Any]:
    class Thing:
        __ai__ = AI(**ai)
        value = 3

        def work(self) -> None: ...
        def _private(self) -> None: ...
        @staticmethod
        def still() -> None: ...
        @classmethod
        def of_class(cls) -> None: ...
        @property
        def prop(self) -> int:
            return 1

    return Thing


@pytest.mark.parametrize(
    "name", ["nowhere", "_private", "__init__", "__class__", "value", "still", "of_class", "prop", 3]
)
def test_what_is_no_public_method_cannot_be_declared(name: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"Thing: no model may call {name!r}"):
        tools_of(declared(callable=[name]))


def test_descriptions_are_of_tools() -> None:
    assert tools_of(declared(callable=["work"], descriptions={"work": "Work!"}))["work"].description == "Work!"
    with pytest.raises(InvalidArgumentError, match="'other'"):
        tools_of(declared(callable=["work"], descriptions={"other": "?"}))
    with pytest.raises(ArgumentTypeError, match="list of names"):
        tools_of(declared(callable="work"))


def test_a_private_or_static_method_cannot_be_marked() -> None:
    with pytest.raises(InvalidArgumentError, match="_hidden is private"):

        class Wrong:
            @ai_tool
            def _hidden(self) -> None: ...

    with pytest.raises(ArgumentTypeError, match="staticmethod"):

        class Still:
            @ai_tool
            @staticmethod
            def still() -> None: ...

    class Marked:
        @staticmethod
        @ai_tool
        def still() -> None: ...

    with pytest.raises(InvalidArgumentError, match="no method of an object"):
        tools_of(Marked)


def test_types_that_json_has_not_are_refused_by_name() -> None:
    class Wrong:
        @ai_tool
        def take(self, shop: Shop) -> None: ...

    class Unknown:
        @ai_tool
        def take(self, shop: "Nowhere") -> None: ...  # noqa: F821  # type: ignore[name-defined]

    for kind in (Wrong, Unknown):
        with pytest.raises(InvalidArgumentError, match=rf"{kind.__name__}\.take can't be called by a model"):
            tools_of(kind)


def test_a_parameter_is_not_called_as_a_secret_field_is() -> None:
    class Rotating(Memo):
        @ai_tool
        def rotate(self, token: str) -> None: ...

    with pytest.raises(SensitiveFieldError, match=r"Rotating\.token is sensitive and can't be a parameter of rotate"):
        tools_of(Rotating)
