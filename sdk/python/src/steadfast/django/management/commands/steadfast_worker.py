"""`manage.py steadfast_worker`: runs the tasks of this project."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.tasks import task_backends
from django.utils.module_loading import autodiscover_modules

from ....worker import Worker
from ...backend import SteadfastBackend


class Command(BaseCommand):
    """Runs tasks until SIGTERM or SIGINT, then stops in order."""

    help = "Run tasks that were enqueued with the Steadfast backend"

    def add_arguments(self, parser: CommandParser) -> None:
        """The options of the command."""
        parser.add_argument(
            "--backend", default="default", help="alias of the backend in TASKS (default)"
        )
        parser.add_argument(
            "--concurrency", type=int, default=10, help="maximum number of tasks at once (10)"
        )
        parser.add_argument(
            "--queue", dest="queues", action="append", default=[],
            help="only this queue; repeatable; by default all of the backend's",
        )  # fmt: skip
        parser.add_argument(
            "--task", dest="kinds", action="append", default=[], metavar="PATH",
            help="only this task, by the path of its function; repeatable; by default all tasks",
        )  # fmt: skip
        parser.add_argument("--lease", help="lease duration instead of each job's own, such as 30s")
        parser.add_argument("--grace", default="30s", help="grace period on a stop (30s)")
        parser.add_argument("--name", help="the worker's name; by default host and process")

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the worker."""
        backend = task_backends[options["backend"]]
        if not isinstance(backend, SteadfastBackend):
            raise CommandError(f"the backend {options['backend']!r} is not a SteadfastBackend")
        autodiscover_modules("tasks")
        if not backend.tasks:
            raise CommandError(
                "no task uses this backend: define tasks in the module `tasks` of an installed app"
            )
        try:
            Worker(
                backend.app,
                concurrency=options["concurrency"],
                queues=options["queues"] or sorted(backend.queues),
                kinds=options["kinds"] or None,
                lease=options["lease"],
                grace=options["grace"],
                name=options["name"],
            ).run()
        except ValueError as error:
            raise CommandError(str(error)) from error
