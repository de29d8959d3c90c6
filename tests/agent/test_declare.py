"""Functions as tools: what a model is told, and what a function is given."""

import asyncio
import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import pytest
from tests.agent.workplaces import workplace

from reverie import InputError, ToolOutput, tool
from reverie.agent.permissions import Consent, by_mode
from reverie.agent.toolbox import Toolbox
from reverie.core.messages import ToolUse


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0


class Person(TypedDict):
    name: str
    age: NotRequired[int]


def schema_of(made: Any) -> Any:
    return json.loads(made.spec.schema)


def parameter(annotation: Any) -> Any:
    """The schema of one parameter."""

    def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation
    return schema_of(tool(f))["properties"]["value"]


OBJECT = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (Path, {"type": "string"}),
        (list, {"type": "array"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Colour, {"enum": ["red", "blue"]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (
            Point,
            OBJECT
            | {
                "properties": {"x": {"type": "integer"}, "y": {"type": "number"}},
                "required": ["x"],
            },
        ),
        (
            Person,
            OBJECT
            | {
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name"],
            },
        ),
    ],
)
def test_a_type_is_a_schema(annotation: Any, schema: Any) -> None:
    assert parameter(annotation) == schema


def test_the_docstring_tells_the_model() -> None:
    @tool
    def book(city: str, nights: int = 1, *, room: str = "") -> str:
        """Book a hotel.

        It cannot be undone.

        Args:
            city: Where to sleep, as people
                call it.
            nights (int): How long.

        Returns:
            A receipt.
        """
        return ""

    assert book.spec.name == "book"
    assert book.spec.description == "Book a hotel.\n\nIt cannot be undone."
    found = schema_of(book)
    assert found["required"] == ["city"]
    assert found["properties"] == {
        "city": {"type": "string", "description": "Where to sleep, as people call it."},
        "nights": {"type": "integer", "description": "How long."},
        "room": {"type": "string"},
    }


def test_fields_in_the_docstring() -> None:
    @tool
    def book(city: str, nights: int) -> str:
        """Book a hotel.

        :param city: Where to sleep,
            as people call it.
        :param int nights: How long.
        :returns: A receipt.
        """
        return ""

    texts = {name: p["description"] for name, p in schema_of(book)["properties"].items()}
    assert book.spec.description == "Book a hotel."
    assert texts == {"city": "Where to sleep, as people call it.", "nights": "How long."}


def test_it_is_still_a_function() -> None:
    @tool(access="read", name="plus", clearable=True)
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add(1, b=2) == 3
    assert add.name == "plus"
    assert add.clearable
    assert add.headline({"a": 1, "b": "x" * 200}).startswith("plus(a=1, b='xxx")
    assert len(add.headline({"a": 1, "b": "x" * 200})) == 100


async def result(made: Any, mode: Any = "bypass", /, **arguments: Any) -> tuple[str, bool]:
    """What a model is told after it called the tool."""
    where = workplace(Path())
    box = Toolbox([made], where, Consent(by_mode(mode, where)))
    [found] = await box.run([ToolUse("t1", made.name, json.dumps(arguments))])
    return found.text, found.is_error


class TestRunning:
    async def test_arguments_are_what_they_are_annotated_as(self) -> None:
        given: list[object] = []

        @tool
        def take(
            point: Point,
            many: list[Point],
            colour: Colour,
            where: Path,
            person: Person,
            table: dict[str, Colour],
            either: Point | int | None = None,
            some: tuple[int, ...] = (),
            ratio: float = 1.0,
        ) -> None:
            given.extend((point, many, colour, where, person, table, either, some, ratio))

        point = {"x": 1}
        await result(
            take,
            point=point,
            many=[point],
            colour="red",
            where="a/b",
            person={"name": "Ada"},
            table={"a": "blue"},
            either={"x": 3, "y": 1},
            some=[1, 2],
            ratio=2,
        )
        assert given == [
            Point(1),
            [Point(1)],
            Colour.RED,
            Path("a/b"),
            {"name": "Ada"},
            {"a": Colour.BLUE},
            Point(3, 1.0),
            (1, 2),
            2.0,
        ]
        assert isinstance(given[-1], float)

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("plain", "plain"),
            (None, ""),
            ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
            (Point(1), '{"x": 1, "y": 0.0}'),
            ([Colour.RED, Path("a"), {3}], '["red", "a", [3]]'),
            (ToolOutput.of("mine"), "mine"),
        ],
    )
    async def test_what_it_gives_back(self, value: object, text: str) -> None:
        @tool(access="read")
        def give() -> object:
            return value

        assert await result(give) == (text, False)

    async def test_async_functions(self) -> None:
        @tool(access="read")
        async def give(text: str) -> str:
            await asyncio.sleep(0)
            return text

        assert await result(give, text="later") == ("later", False)

    async def test_what_blocks_holds_nothing_up(self) -> None:
        begun, done = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        @tool(access="read")
        def wait() -> str:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(done.wait(), loop).result(10)
            return "waited"

        task = asyncio.create_task(result(wait))
        await begun.wait()
        done.set()
        assert await task == ("waited", False)

    async def test_a_failure_is_told(self) -> None:
        @tool(access="read")
        def fail() -> str:
            raise OSError("no such city")

        text, wrong = await result(fail)
        assert wrong
        assert "no such city" in text

    async def test_wrong_arguments_never_reach_it(self) -> None:
        @tool(access="read")
        def take(point: Point) -> str:
            raise AssertionError

        text, wrong = await result(take, point={"x": "one"})
        assert wrong
        assert "must be integer" in text

    @pytest.mark.parametrize(
        ("access", "mode", "allowed"),
        [
            ("read", "ask", True),
            ("read", "plan", True),
            (None, "ask", False),
            (None, "bypass", True),
            ("edit", "plan", False),
            ("network", "ask", False),
        ],
    )
    async def test_permission(self, access: Any, mode: str, allowed: bool) -> None:
        def do() -> str:
            return "done"

        made = tool(do) if access is None else tool(access=access)(do)
        assert (await result(made, mode) == ("done", False)) == allowed


@dataclass
class Tree:
    below: list["Tree"]


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("annotation", "said"),
        [
            (set[str], r"the parameter 'value' of the tool 'f': a model cannot be asked for set"),
            (dict[int, str], "the keys of a JSON object are text"),
            (tuple[int, str], "cannot be asked for tuple"),
            (object(), "cannot be asked for"),
            (Tree, "Tree contains itself"),
        ],
    )
    def test_types(self, annotation: Any, said: str) -> None:
        with pytest.raises(InputError, match=said):
            parameter(annotation)

    def test_no_type(self) -> None:
        with pytest.raises(InputError, match="must say the type of 'a'"):
            tool(_untyped)

    def test_no_name_for_an_argument(self) -> None:
        def f(*many: str) -> None: ...

        with pytest.raises(InputError, match=r"takes \*many.*by name"):
            tool(f)

    def test_an_unknown_name_in_an_annotation(self) -> None:
        def f(a: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821

        with pytest.raises(InputError, match="'Nowhere' is not defined"):
            tool(f)

    def test_an_unknown_access(self) -> None:
        with pytest.raises(InputError, match="access='write'; known: read, edit, run, network"):
            tool(access="write")(_typed)  # type: ignore[call-overload]

    def test_a_name_no_provider_takes(self) -> None:
        with pytest.raises(InputError, match="'my tool' cannot name a tool"):
            tool(name="my tool")(_typed)


def _untyped(a):  # type: ignore[no-untyped-def]
    return a


def _typed(a: str) -> str:
    return a
