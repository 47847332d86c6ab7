from __future__ import annotations

import enum
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple, NewType, TypedDict

import pytest

from steadfast import Context, Json, PayloadError
from steadfast.payloads import Signature, decode, to_json


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 2


@dataclass
class Line:
    name: str
    count: int = 1


@dataclass
class Order:
    number: int
    lines: list[Line] = field(default_factory=list)


class Address(TypedDict):
    city: str


UserId = NewType("UserId", int)


class Point(NamedTuple):
    x: int
    y: float


FITTING: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (float, 3, 3.0),
    (str, "ä", "ä"),
    (bool, True, True),
    (Any, {"a": [None]}, {"a": [None]}),
    (int | None, None, None),
    (int | str, "a", "a"),
    (Literal["a", 1], 1, 1),
    (list[int], [1, 2], [1, 2]),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (set[str], ["a"], {"a"}),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (Colour, "red", Colour.RED),
    (UserId, 7, 7),
    (datetime, "2030-01-02T03:04:05Z", datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)),
    (date, "2030-01-02", date(2030, 1, 2)),
    (timedelta, "90s", timedelta(seconds=90)),
    (Decimal, "1.10", Decimal("1.10")),
    (time, "03:04:05", time(3, 4, 5)),
    (PurePosixPath, "a/b", PurePosixPath("a/b")),
    (Point, [1, 2.5], Point(1, 2.5)),
    (dict[int, str], {"7": "a"}, {7: "a"}),
    (dict[Level, int], {"2": 1}, {Level.HIGH: 1}),
    (dict[int | str, int], {"7": 1, "a": 2}, {7: 1, "a": 2}),
    (float | int, 3, 3),
    (float | int, 3.0, 3.0),
    (uuid.UUID, "00000000-0000-0000-0000-000000000007", uuid.UUID(int=7)),
    (Order, {"number": 1, "lines": [{"name": "a"}]}, Order(1, [Line("a")])),
    (Address, {"city": "Rom", "more": 1}, {"city": "Rom", "more": 1}),
]

MISFITS: list[tuple[Any, Any, str]] = [
    (int, "3", 'x must be an integer, but is "3"'),
    (int, True, "x must be an integer, but is true"),
    (int, 1.5, "x must be an integer, but is 1.5"),
    (float, "1", 'x must be a number, but is "1"'),
    (str, None, "x must be a text, but is null"),
    (bool, 1, "x must be true or false, but is 1"),
    (None, 1, "x must be null, but is 1"),
    (int | None, "a", 'x must be an integer, but is "a"; or x must be null, but is "a"'),
    (Literal["a"], "b", "x must be one of 'a', but is \"b\""),
    (list[int], [1, "a"], 'x[1] must be an integer, but is "a"'),
    (tuple[int, str], [1], "x must be a list of 2, but is [1]"),
    (dict[str, int], {"a": "b"}, 'x.a must be an integer, but is "b"'),
    (Colour, "blue", 'x must be a Colour, but is "blue"'),
    (datetime, "soon", 'x must be a datetime, but is "soon"'),
    (Order, {"number": 1, "lines": [{"count": 1}]}, "x.lines[0].name is missing"),
    (Order, [], "x must be an object, but is []"),
    (Address, {}, "x.city is missing"),
    (str, ["y" * 100], 'x must be a text, but is ["' + "y" * 77 + "…"),
]


@pytest.mark.parametrize(("hint", "value", "expected"), FITTING)
def test_values_become_what_the_annotation_says(hint: Any, value: Any, expected: Any) -> None:
    decoded = decode(hint, value, "x")
    assert decoded == expected
    assert type(decoded) is type(expected)


@pytest.mark.parametrize(("hint", "value", "message"), MISFITS)
def test_a_misfit_names_the_place_and_what_is_expected(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(PayloadError) as error:
        decode(hint, value, "x")
    assert str(error.value) == message
    assert error.value.failure_class == "payload"


def test_what_is_written_can_be_read_again() -> None:
    for hint, _, value in FITTING:
        assert decode(hint, json.loads(to_json(value)), "x") == value


def test_what_has_no_form_in_json_is_refused() -> None:
    for value in (object(), float("nan"), b"bytes"):
        with pytest.raises((TypeError, ValueError)):
            to_json({"a": value})


def fields(a: int, b: str = "x", *, c: bool = False) -> None: ...
def whole(order: Order) -> None: ...
def plain(payload: dict[str, Any]) -> None: ...
def anything(payload: Json, /) -> None: ...
def optional(payload: Any = None, /) -> None: ...
def nothing() -> None: ...
def rest(a: int, **others: int) -> None: ...
def with_context(ctx: Context, a: int) -> None: ...


CALLS: list[tuple[Callable[..., None], tuple[Any, ...], dict[str, Any], Any]] = [
    (fields, (1,), {}, {"a": 1}),
    (fields, (1, "y"), {"c": True}, {"a": 1, "b": "y", "c": True}),
    (whole, (Order(1),), {}, {"number": 1, "lines": []}),
    (plain, ({"a": 1},), {}, {"a": 1}),
    (anything, ([1],), {}, [1]),
    (optional, (), {}, None),
    (nothing, (), {}, None),
    (rest, (1,), {"b": 2}, {"a": 1, "b": 2}),
    (with_context, (1,), {}, {"a": 1}),
]


@pytest.mark.parametrize(("function", "args", "kwargs", "payload"), CALLS)
def test_a_call_becomes_a_payload_and_a_call_again(
    function: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any], payload: Any
) -> None:
    signature = Signature(function, Context)
    encoded = json.loads(to_json(signature.encode(args, kwargs)))
    assert encoded == payload
    decoded_args, decoded_kwargs = signature.decode(encoded)
    assert json.loads(to_json(signature.encode(tuple(decoded_args), decoded_kwargs))) == payload


def test_fields_that_a_handler_does_not_know_are_ignored() -> None:
    signature = Signature(fields, Context)
    assert signature.decode({"a": 1, "z": 2}) == ([], {"a": 1})
    with pytest.raises(PayloadError, match=r"payload\.a is missing"):
        signature.decode({"z": 2})
    with pytest.raises(PayloadError, match="payload must be an object"):
        signature.decode([1])


def test_arguments_that_do_not_fit_the_parameters_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="missing a required argument"):
        Signature(fields, Context).encode((), {})


def test_a_function_whose_payload_could_not_be_written_is_refused() -> None:
    def many(*values: int) -> None: ...
    def two(a: int, b: int, /) -> None: ...

    for function in (many, two):
        with pytest.raises(TypeError):
            Signature(function, Context)


def test_pydantic_models_are_validated() -> None:
    pydantic = pytest.importorskip("pydantic")
    model: Any = pydantic.create_model("Model", count=(int, ...))

    def handler(payload: Any) -> None: ...

    handler.__annotations__["payload"] = model
    signature = Signature(handler, Context)
    assert to_json(signature.encode((model(count=3),), {})) == '{"count":3}'
    assert signature.decode({"count": 3}) == ([model(count=3)], {})
    with pytest.raises(PayloadError, match="count"):
        signature.decode({"count": "many"})
