"""The command `steadfast-worker module:app`."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence

from .app import Steadfast
from .errors import SteadfastError
from .version import VERSION
from .worker import Worker


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a worker for an application until SIGTERM or SIGINT."""
    options = parser().parse_args(arguments)
    logging.basicConfig(
        level=options.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    sys.path.insert(0, os.getcwd())
    try:
        app = find_app(options.app)
        for module in options.imports:
            importlib.import_module(module)
        Worker(
            app,
            concurrency=options.concurrency,
            queues=options.queues,
            kinds=options.kinds or None,
            lease=options.lease,
            grace=options.grace,
            name=options.name,
        ).run()
    except (SteadfastError, ValueError, ImportError, AttributeError) as error:
        print(f"steadfast-worker: {error}", file=sys.stderr)
        return 1
    return 0


def find_app(text: str) -> Steadfast:
    """The application that `module:name` names."""
    module, _, name = text.partition(":")
    found = getattr(importlib.import_module(module), name or "app")
    if not isinstance(found, Steadfast):
        raise ValueError(f"{text} is a {type(found).__name__}, not an application (Steadfast)")
    return found


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="steadfast-worker",
        description="Run the jobs of an application. STEADFAST_URL and STEADFAST_API_KEY name the "
        "server and the key.",
    )
    result.add_argument("app", help="module:name of the application, such as mail.jobs:app")
    result.add_argument(
        "--concurrency", type=int, default=10, help="maximum number of jobs at once (10)"
    )
    result.add_argument(
        "--queue", dest="queues", action="append", default=[], help="only this queue; repeatable"
    )
    result.add_argument(
        "--kind", dest="kinds", action="append", default=[], help="only this kind; repeatable"
    )
    result.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="also import this module, which defines jobs; repeatable",
    )  # fmt: skip
    result.add_argument("--lease", help="lease duration instead of each job's own, such as 30s")
    result.add_argument(
        "--grace", default="30s", help="grace period for running jobs on a stop (30s)"
    )
    result.add_argument("--name", help="the worker's name; by default host and process")
    result.add_argument(
        "--log-level", default="info", choices=["debug", "info", "warning", "error"]
    )
    result.add_argument("--version", action="version", version=f"steadfast-worker {VERSION}")
    return result


if __name__ == "__main__":
    raise SystemExit(main())
