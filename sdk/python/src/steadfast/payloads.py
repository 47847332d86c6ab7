"""Payloads: from the arguments of a call to JSON, and from JSON to the parameters of a handler.

A single parameter that is a dataclass, a pydantic model, a TypedDict or a dict, or that is
positional-only, is the whole payload. Otherwise each parameter is a field of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any, TypeAlias, get_args, get_origin
from uuid import UUID

from .durations import to_millis, to_seconds
from .errors import PayloadError

Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None
"""Any JSON value, for a handler that takes its payload as it is: `def echo(payload: Json, /)`."""

_ABSENT = inspect.Parameter.empty


class Signature:
    """The parameters of a handler, as the payload of its kind."""

    def __init__(self, function: Callable[..., Any], context_type: type) -> None:
        hints = _hints_of(function)
        parameters = list(inspect.signature(function).parameters.values())
        self.takes_context = bool(parameters and hints.get(parameters[0].name) is context_type)
        if self.takes_context:
            del parameters[0]
        self._signature = inspect.Signature(parameters)
        self._fields = {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}
        self._hints = {name: hints.get(name, Any) for name in self._fields}
        self._takes_rest = len(self._fields) < len(parameters)
        for parameter in self._fields.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise TypeError(f"{function.__qualname__}: a payload cannot hold *{parameter.name}")
        self._is_whole = not self._takes_rest and _is_whole(list(self._fields.values()), hints)
        positional_only = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
        if positional_only and not self._is_whole:
            raise TypeError(
                f"{function.__qualname__}: only a single parameter can be positional-only"
            )
        self.result = hints.get("return", Any)

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The payload of a call with these arguments, as JSON has it.

        It is checked as the worker will check it, so that a payload that does not fit is found here
        and not in a dead letter.
        """
        bound = self._signature.bind(*args, **kwargs)
        value: Any
        if self._is_whole:
            value = next(iter(bound.arguments.values()), None)
        else:
            value = dict(bound.arguments)
            if self._takes_rest:
                value |= value.pop(list(self._signature.parameters)[-1], {})
            value = value or None
        payload = json.loads(to_json(value))
        self.decode(payload)
        return payload

    def decode(self, payload: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for a call with this payload, or a `PayloadError`."""
        if self._is_whole:
            name, hint = next(iter(self._hints.items()))
            if payload is None and self._fields[name].default is not _ABSENT:
                return [], {}
            return [decode(hint, payload, "payload")], {}
        fields: Any = {} if payload is None else payload
        if not isinstance(fields, dict):
            raise _mismatch("payload", "an object", fields)
        given = typing.cast("dict[str, Any]", fields)
        arguments: dict[str, Any] = dict(given) if self._takes_rest else {}
        for name, parameter in self._fields.items():
            if name in given:
                arguments[name] = decode(self._hints[name], given[name], f"payload.{name}")
            elif parameter.default is _ABSENT:
                raise PayloadError(f"payload.{name} is missing")
        return [], arguments


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        # An annotation that exists for type checkers only, or refers to a local class.
        frame = inspect.currentframe()
        while frame := frame.f_back if frame else None:
            try:
                return typing.get_type_hints(function, localns=frame.f_locals)
            except (NameError, TypeError):
                continue
        raise


@functools.lru_cache(maxsize=1024)
def _class_hints_of(kind: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _is_whole(parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any]) -> bool:
    if len(parameters) != 1:
        return False
    hint = hints.get(parameters[0].name)
    kind = get_origin(hint) or hint
    return parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY or (
        isinstance(kind, type)
        and (
            dataclasses.is_dataclass(kind)
            or _is_pydantic(kind)
            or typing.is_typeddict(kind)
            or issubclass(kind, Mapping)
        )
    )


def _is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__pydantic_validator__")


# --- JSON ----------------------------------------------------------------------------------------


def to_json(value: Any) -> str:
    """JSON text; dataclasses, pydantic models, enums, dates and the like included."""
    return json.dumps(
        value, default=_encode, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


def _encode(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{to_millis(value)}ms"
    if isinstance(value, UUID | Decimal | PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return list(typing.cast("set[Any]", value))
    if isinstance(value, Mapping):
        return dict(typing.cast("Mapping[str, Any]", value))
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def decode(hint: Any, value: Any, path: str) -> Any:
    """The value as the annotated type, or a `PayloadError` that names the place."""
    if hint is Any or hint is object or isinstance(hint, typing.TypeVar):
        return value
    if hint is None or hint is type(None):
        return value if value is None else _refuse(path, "null", value)
    if isinstance(hint, typing.NewType):
        return decode(hint.__supertype__, value, path)
    origin = get_origin(hint)
    if origin is typing.Annotated:
        return decode(get_args(hint)[0], value, path)
    if origin is typing.Union or origin is types.UnionType:
        return _decode_union(get_args(hint), value, path)
    if origin is typing.Literal:
        if any(value == choice and type(value) is type(choice) for choice in get_args(hint)):
            return value
        raise _mismatch(path, f"one of {', '.join(map(repr, get_args(hint)))}", value)
    kind = origin or hint
    if not isinstance(kind, type):
        return value
    return _decode_type(typing.cast("type[Any]", kind), get_args(hint), value, path)


def _decode_union(choices: tuple[Any, ...], value: Any, path: str) -> Any:
    errors: list[str] = []
    if float in choices and int in choices and type(value) is int:
        return value  # JSON tells 3 from 3.0, and so does Python.
    for choice in choices:
        try:
            return decode(choice, value, path)
        except PayloadError as error:
            errors.append(str(error))
    raise PayloadError(errors[0] if len(errors) == 1 else "; or ".join(errors))


def _decode_type(kind: type[Any], parameters: tuple[Any, ...], value: Any, path: str) -> Any:
    if _is_pydantic(kind):
        return _decode_pydantic(kind, value, path)
    if kind is bool or kind is str:
        name = "true or false" if kind is bool else "a text"
        return value if isinstance(value, kind) else _refuse(path, name, value)
    if kind is int:
        is_int = isinstance(value, int) and not isinstance(value, bool)
        return value if is_int else _refuse(path, "an integer", value)
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else _refuse(path, "a number", value)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, value, path)
    if typing.is_typeddict(kind):
        return _decode_typed_dict(kind, value, path)
    if issubclass(kind, Mapping):
        if not isinstance(value, dict):
            raise _mismatch(path, "an object", value)
        keys, values = parameters if len(parameters) == 2 else (Any, Any)
        items = typing.cast("dict[str, Any]", value).items()
        return {
            _decode_key(keys, key, path): decode(values, item, f"{path}.{key}")
            for key, item in items
        }
    if kind in _FROM_TEXT or issubclass(kind, enum.Enum | PurePath):
        return _decode_text(kind, value, path)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _decode_named_tuple(kind, value, path)
    if issubclass(kind, Sequence | set | frozenset):
        return _decode_list(kind, parameters, value, path)
    return value


def _decode_key(hint: Any, key: str, path: str) -> Any:
    """A key as the annotated type: in JSON, all keys are texts."""
    kinds = get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    for kind in kinds:
        if kind in _FROM_KEY:
            try:
                return _FROM_KEY[kind](key)
            except (ValueError, KeyError):
                continue
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            # The value of its member may be a number.
            for member in kind:
                if str(member.value) == key:
                    return member
            continue
        with contextlib.suppress(PayloadError):
            return decode(kind, key, path)
    raise _mismatch(f"a key of {path}", " or ".join(map(_name_of, kinds)), key)


_FROM_KEY: dict[Any, Callable[[str], Any]] = {
    int: int,
    float: float,
    bool: {"true": True, "false": False}.__getitem__,
    type(None): {"null": None}.__getitem__,
}


def _decode_named_tuple(kind: type[Any], value: Any, path: str) -> Any:
    names: tuple[str, ...] = kind._fields
    if not isinstance(value, list) or len(value) != len(names):
        raise _mismatch(path, f"a list of {len(names)}", value)
    hints = _class_hints_of(typing.cast("Hashable", kind))
    values: list[Any] = value
    return kind(
        *(
            decode(hints.get(name, Any), item, f"{path}.{name}")
            for name, item in zip(names, values, strict=True)
        )
    )


def _decode_list(kind: type[Any], parameters: tuple[Any, ...], value: Any, path: str) -> Any:
    if not isinstance(value, list):
        raise _mismatch(path, "a list", value)
    values: list[Any] = value
    if issubclass(kind, tuple) and parameters and parameters[-1] is not ...:
        if len(values) != len(parameters):
            raise _mismatch(path, f"a list of {len(parameters)}", values)
        hints: Sequence[Any] = parameters
    else:
        hints = [parameters[0] if parameters else Any] * len(values)
    items = [
        decode(hint, item, f"{path}[{i}]")
        for i, (hint, item) in enumerate(zip(hints, values, strict=True))
    ]
    return kind(items) if kind in (tuple, set, frozenset) else items


def _datetime(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


_FROM_TEXT: dict[Any, Callable[[Any], Any]] = {
    datetime: _datetime,
    date: date.fromisoformat,
    time: time.fromisoformat,
    timedelta: lambda text: timedelta(seconds=to_seconds(text)),
    UUID: UUID,
    Decimal: Decimal,
}


def _decode_text(kind: type[Any], value: Any, path: str) -> Any:
    try:
        return _FROM_TEXT.get(kind, kind)(value)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        raise _mismatch(path, f"a {kind.__name__}", value) from None


def _decode_dataclass(kind: type[Any], value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise _mismatch(path, "an object", value)
    given = typing.cast("dict[str, Any]", value)
    hints = _class_hints_of(typing.cast("Hashable", kind))
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.name in given:
            fields[field.name] = decode(
                hints[field.name], given[field.name], f"{path}.{field.name}"
            )
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise PayloadError(f"{path}.{field.name} is missing")
    try:
        return kind(**fields)
    except (TypeError, ValueError) as error:
        raise PayloadError(f"{path}: {error}") from error


def _decode_typed_dict(kind: type[Any], value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise _mismatch(path, "an object", value)
    given = typing.cast("dict[str, Any]", value)
    for name in sorted(typing.cast("Any", kind).__required_keys__ - given.keys()):
        raise PayloadError(f"{path}.{name} is missing")
    hints = _class_hints_of(typing.cast("Hashable", kind))
    return {key: decode(hints.get(key, Any), item, f"{path}.{key}") for key, item in given.items()}


def _decode_pydantic(kind: Any, value: Any, path: str) -> Any:
    try:
        # As JSON, so that a strict model takes a time that is written as text.
        if hasattr(kind, "model_validate_json"):
            return kind.model_validate_json(to_json(value))
        from pydantic import TypeAdapter

        return TypeAdapter(kind).validate_json(to_json(value))
    except ValueError as error:
        raise PayloadError(f"{path}: {error}") from error


def _name_of(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def _refuse(path: str, expected: str, value: Any) -> typing.NoReturn:
    raise _mismatch(path, expected, value)


def _mismatch(path: str, expected: str, value: Any) -> PayloadError:
    shown = json.dumps(value, ensure_ascii=False)
    shown = shown if len(shown) <= 80 else shown[:79] + "…"
    return PayloadError(f"{path} must be {expected}, but is {shown}")
