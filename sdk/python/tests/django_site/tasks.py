from __future__ import annotations

from typing import Any

from django.tasks import TaskContext, task


class CardDeclined(Exception):
    """An exception of the application."""


@task(queue_name="django", takes_context=True)
def third_time(context: TaskContext) -> str:
    if context.attempt < 3:
        raise CardDeclined(f"attempt {context.attempt}")
    return "paid"


@task(queue_name="django")
def add(a: int, b: int) -> int:
    return a + b


@task(queue_name="django", priority=100)
async def later(name: str) -> str:
    return f"Hello, {name}!"


@task(queue_name="django", takes_context=True)
def second_time(context: TaskContext, **fields: Any) -> dict[str, Any]:
    if context.attempt == 1:
        raise ConnectionError("the first attempt fails")
    return {"id": context.task_result.id, **fields}
