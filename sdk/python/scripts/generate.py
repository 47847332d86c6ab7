"""Writes the types and methods of the API from docs/openapi.json.

python scripts/generate.py           writes types, options of jobs, and both operations files
python scripts/generate.py --check   fails if they differ from what would be written
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
OPENAPI = PACKAGE.parent.parent / "docs" / "openapi.json"
SOURCE = PACKAGE / "src" / "steadfast"
HEAD = "# Written by scripts/generate.py from docs/openapi.json.\n"

Schema = dict[str, Any]

# Streams and pages for people are not calls that answer with JSON.
LEFT_OUT = {"streamEvents"}


def main() -> int:
    api = json.loads(OPENAPI.read_text())
    files = {
        "types.py": types_file(api["components"]["schemas"]),
        "_generated/options.py": options_file(api["components"]["schemas"]["CreateJobRequest"]),
        "_generated/operations_sync.py": operations_file(api, is_async=False),
        "_generated/operations_async.py": operations_file(api, is_async=True),
    }
    drifted: list[str] = []
    for name, text in files.items():
        formatted = format_code(text)
        path = SOURCE / name
        if not path.exists() or path.read_text() != formatted:
            drifted.append(name)
            if "--check" not in sys.argv:
                path.write_text(formatted)
    if drifted and "--check" in sys.argv:
        print(f"{', '.join(drifted)} differ from docs/openapi.json: run scripts/generate.py")
        return 1
    return 0


def format_code(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "generated.py", "-"]
    result = subprocess.run(
        command, input=text, text=True, capture_output=True, check=True, cwd=PACKAGE
    )
    return result.stdout


# --- types ---------------------------------------------------------------------------------------


def types_file(schemas: dict[str, Schema]) -> str:
    body = "\n\n".join(definition(name, schema) for name, schema in in_order(schemas))
    return (
        f'{HEAD}"""What the API takes and answers, by the names of docs/openapi.json."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict\n\n"
        "if TYPE_CHECKING:\n    from typing_extensions import NotRequired\n\n"
        f"{body}\n"
    )


def in_order(schemas: dict[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Bases before the types that inherit from them; aliases are quoted and need no order."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[tuple[str, Schema]]:
        if name in done:
            return
        done.add(name)
        for part in schemas[name].get("allOf", []):
            if "$ref" in part:
                yield from visit(ref_name(part))
        yield name, schemas[name]

    for name in schemas:
        yield from visit(name)


def definition(name: str, schema: Schema) -> str:
    bases, properties, required = parts_of(schema)
    if not properties and not bases:
        return f"{name}: TypeAlias = {alias_of(schema)}\n{doc(schema, '')}"
    fields = {
        key: type_of(value) if key in required else f"NotRequired[{type_of(value)}]"
        for key, value in properties.items()
    }
    if any(keyword.iskeyword(key) for key in fields):
        rows = ", ".join(f'"{key}": "{kind}"' for key, kind in fields.items())
        return f'{name} = TypedDict("{name}", {{{rows}}})\n{doc(schema, "")}'
    lines = [f"class {name}({', '.join(bases or ['TypedDict'])}):"]
    lines.append(doc(schema, "    "))
    for key, kind in fields.items():
        lines.append(f"    {key}: {kind}")
        lines.append(doc(properties[key], "    "))
    return "\n".join(line for line in lines if line)


def parts_of(schema: Schema) -> tuple[list[str], dict[str, Schema], set[str]]:
    bases: list[str] = []
    properties: dict[str, Schema] = dict(schema.get("properties", {}))
    required: set[str] = set(schema.get("required", []))
    for part in schema.get("allOf", []):
        if "$ref" in part:
            bases.append(ref_name(part))
        else:
            properties |= part.get("properties", {})
            required |= set(part.get("required", []))
    return bases, properties, required


def type_of(schema: Schema) -> str:
    if "$ref" in schema:
        return ref_name(schema)
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(type_of(part) for part in schema[key]))
    if "enum" in schema:
        return "Literal[" + ", ".join(repr(value) for value in schema["enum"]) + "]"
    kind = schema.get("type")
    if isinstance(kind, list):
        parts: list[str] = [str(part) for part in kind]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return " | ".join(type_of({**schema, "type": part}) for part in parts)
    if kind == "array":
        return f"list[{type_of(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {type_of(values) if isinstance(values, dict) else 'Any'}]"
    names = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    return "None" if kind == "null" else names.get(str(kind), "Any")


def alias_of(schema: Schema) -> str:
    """Quoted if it names another type, which may be defined further down."""
    kind = type_of(schema)
    return kind if kind.startswith("Literal") else f'"{kind}"'


def ref_name(schema: Schema) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[-1]


def doc(schema: Schema, indent: str) -> str:
    text = schema.get("description") or next(
        (part["description"] for part in schema.get("oneOf", []) if part.get("description")), ""
    )
    text = " ".join(str(text).split()).replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    return f"{wrap(text, indent)}" if text else ""


def wrap(text: str, indent: str) -> str:
    """A docstring in lines of at most 100 characters."""
    lines: list[str] = [f'{indent}"""']
    for word in text.split(" "):
        space = "" if lines[-1].endswith('"""') or lines[-1] == indent else " "
        if len(lines[-1]) + len(space) + len(word) > 96:
            lines.append(indent + word)
        else:
            lines[-1] += space + word
    return "\n".join(lines) + ('"""' if len(lines) == 1 else f'\n{indent}"""')


# --- options of jobs -----------------------------------------------------------------------------

# What a job does, and when a schedule creates it, are not options of one that is enqueued.
NOT_OPTIONS = {"kind", "payload", "api", "http", "like", "schedule", "isRecurring", "timezone"}


def options_file(request: Schema) -> str:
    fields: list[str] = []
    table: list[str] = []
    for name, schema in request["properties"].items():
        if name in NOT_OPTIONS:
            continue
        form, kind = option_of(name, schema)
        fields.append(f"    {snake(name)}: {kind}\n{doc(schema, '    ')}")
        table.append(f'    "{snake(name)}": ("{name}", "{form}"),')
    return (
        f'{HEAD}"""Options of a job: all that the API takes besides the work itself."""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Mapping, Sequence\n"
        "from datetime import datetime\n"
        "from typing import Literal, TypedDict\n\n"
        "from .. import types\n"
        "from ..durations import Duration\n\n"
        'Form = Literal["plain", "duration", "time", "deadline"]\n\n\n'
        "class JobOptions(TypedDict, total=False):\n"
        '    """Options of a job; the server has defaults for all of them."""\n\n'
        + "\n".join(fields)
        + "\n\n\nOPTIONS: dict[str, tuple[str, Form]] = {\n"
        + "\n".join(table)
        + '\n}\n"""The name in the API, and how a value is written there."""\n'
    )


def option_of(name: str, schema: Schema) -> tuple[str, str]:
    kind = with_module(type_of(schema)).removesuffix(" | None")
    if kind == "types.Duration":
        return "duration", "Duration"
    if schema.get("format") == "date-time":
        return "time", "datetime"
    if name == "startBefore":
        return "deadline", "datetime | Duration"
    kind = kind.replace("dict[", "Mapping[").replace("list[", "Sequence[")
    return "plain", kind


# --- operations ----------------------------------------------------------------------------------


def operations_file(api: Schema, *, is_async: bool) -> str:
    name = "AsyncOperations" if is_async else "Operations"
    methods = [
        method(path, verb, operation, is_async)
        for path, operations in api["paths"].items()
        for verb, operation in operations.items()
        if verb in {"get", "post", "put", "patch", "delete"}
        and operation["operationId"] not in LEFT_OUT
    ]
    await_ = "async " if is_async else ""
    return (
        f'{HEAD}"""One method for each operation of the API."""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Mapping\n"
        "from typing import TYPE_CHECKING, Any, cast\n"
        "from urllib.parse import quote\n\n"
        "if TYPE_CHECKING:\n    from .. import types\n\n\n"
        f'class {name}:\n    """Every operation of the API, by its id in snake case."""\n\n'
        f"    {await_}def request(\n        self,\n        method: str,\n        path: str,\n"
        "        *,\n        query: Mapping[str, Any] | None = None,\n        body: Any = None,\n"
        "        headers: Mapping[str, str] | None = None,\n"
        "        timeout: float | None = None,\n        is_repeatable: bool | None = None,\n"
        "    ) -> Any:\n"
        '        """Sends a request and returns what the answer says."""\n'
        "        raise NotImplementedError\n\n" + "\n\n".join(methods)
    )


def method(path: str, verb: str, operation: Schema, is_async: bool) -> str:
    parameters = operation.get("parameters", [])
    in_path = [p for p in parameters if p["in"] == "path"]
    in_query = [p for p in parameters if p["in"] == "query"]
    in_header = [p for p in parameters if p["in"] == "header"]
    body_type, body_required = body_of(operation)
    arguments = [f"{argument(p['name'])}: {query_type(p)}" for p in in_path]
    if body_type:
        arguments.append(f"body: {body_type}" + ("" if body_required else " | None = None"))
    keywords = [
        f"{argument(p['name'])}: {query_type(p)}" + ("" if p.get("required") else " | None = None")
        for p in sorted([*in_query, *in_header], key=lambda p: not p.get("required", False))
    ]
    if keywords:
        arguments += ["*", *keywords]
    numbers = {p["name"] for p in in_path if query_type(p) == "int"}
    text = {p["name"]: argument(p["name"]) for p in in_path}
    text |= {name: f"str({text[name]})" for name in numbers}
    target = re.sub(r"\{(\w+)\}", lambda m: "{quote(" + text[m[1]] + ", safe='')}", path)
    call = [repr(verb.upper()), f'f"{target}"' if in_path else f'"{path}"']
    if in_query:
        call.append(
            "query={" + ", ".join(f'"{p["name"]}": {argument(p["name"])}' for p in in_query) + "}"
        )
    if body_type:
        call.append("body=body")
    if in_header:
        pairs = ", ".join(f'("{p["name"]}", {argument(p["name"])})' for p in in_header)
        call.append(f"headers={{name: value for name, value in [{pairs}] if value is not None}}")
    answer = answer_of(operation)
    send = f"{'await ' if is_async else ''}self.request({', '.join(call)})"
    returned = f'        return cast("{answer}", {send})' if answer != "None" else f"        {send}"
    return (
        f"    {'async ' if is_async else ''}def {snake(operation['operationId'])}"
        f"({', '.join(['self', *arguments])}) -> {answer}:\n"
        f"{doc({'description': operation['summary']}, '        ')}\n{returned}\n"
    )


def body_of(operation: Schema) -> tuple[str, bool]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return "", False
    kind = with_module(type_of(content["schema"])).removesuffix(" | None")
    return kind, bool(operation["requestBody"].get("required"))


def answer_of(operation: Schema) -> str:
    for status, response in sorted(operation["responses"].items()):
        if status.startswith("2"):
            content = response.get("content", {}).get("application/json")
            return with_module(type_of(content["schema"])) if content else "None"
    return "None"


def with_module(kind: str) -> str:
    return re.sub(r"\b(?!Any\b|None\b|Literal\b)([A-Z]\w+)", r"types.\1", kind)


def query_type(parameter: Schema) -> str:
    return with_module(type_of(parameter["schema"])).removesuffix(" | None")


def argument(name: str) -> str:
    name = snake(name.replace("-", "_"))
    return f"{name}_" if keyword.iskeyword(name) else name


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


if __name__ == "__main__":
    raise SystemExit(main())
