"""Measures arq on Redis: single enqueues, 50 at a time, and a drain of jobs that do nothing.

bench.py JOBS, with REDIS_PORT; the figures go to stderr.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

from arq import create_pool
from arq.connections import ArqRedis, RedisSettings
from arq.worker import Worker

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
CONCURRENCY = 100
ENQUEUES = 2_000
ONE_BY_ONE = 500
settings = RedisSettings(host="127.0.0.1", port=int(os.environ["REDIS_PORT"]))


async def noop(ctx: dict[str, Any]) -> None:
    os.write(1, b'{"event":"start"}\n')
    os.write(1, b'{"event":"end"}\n')


async def enqueue(redis: ArqRedis, count: int) -> float:
    """The seconds that single enqueues take, 50 at a time."""
    left = iter(range(count))

    async def enqueue_some() -> None:
        for _ in left:
            await redis.enqueue_job("noop")

    begin = time.monotonic()
    await asyncio.gather(*(enqueue_some() for _ in range(50)))
    return time.monotonic() - begin


async def drain(redis: ArqRedis, concurrency: int) -> tuple[float, float]:
    """The seconds that a worker takes for what waits, and its CPU time."""
    cpu, begin = time.process_time(), time.monotonic()
    worker = Worker(
        functions=[noop],
        redis_pool=redis,
        max_jobs=concurrency,
        keep_result=0,
        burst=True,
        poll_delay=0.01,
        handle_signals=False,
    )
    await worker.main()
    return time.monotonic() - begin, time.process_time() - cpu


async def main() -> None:
    redis = await create_pool(settings)
    enqueue_seconds = await enqueue(redis, ENQUEUES)
    await enqueue(redis, JOBS - ENQUEUES)
    seconds, used = await drain(redis, CONCURRENCY)
    await enqueue(redis, ONE_BY_ONE)
    one_seconds, _ = await drain(redis, 1)
    figures = {
        "library": "arq",
        "jobs": JOBS,
        "concurrency": CONCURRENCY,
        "jobsPerSecond": JOBS / seconds,
        "enqueuesPerSecond": ENQUEUES / enqueue_seconds,
        "oneByOnePerSecond": ONE_BY_ONE / one_seconds,
        "cpuPerJobMicros": used / JOBS * 1e6,
    }
    print(json.dumps(figures, separators=(",", ":")), file=sys.stderr)


asyncio.run(main())
