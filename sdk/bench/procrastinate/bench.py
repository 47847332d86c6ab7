"""Measures Procrastinate on PostgreSQL as the conformance program's --bench measures a library of
ours: the same number of jobs that do nothing and write the same two lines, then one at a time.

bench.py JOBS, with DATABASE_URL; the figures go to stderr.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time

import procrastinate

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
CONCURRENCY = 100
SINGLES = 50  # each takes about half a second

logging.disable(logging.WARNING)
connector = procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"], max_size=20)
app = procrastinate.App(connector=connector)
done = 0
started: asyncio.Queue[float] = asyncio.Queue()


@app.task(pass_context=True)
async def noop(context: procrastinate.JobContext) -> None:
    global done
    started.put_nowait(time.monotonic())
    os.write(1, b'{"event":"start","job":"%d"}\n' % (context.job.id or 0))
    os.write(1, b'{"event":"end","job":"%d"}\n' % (context.job.id or 0))
    done += 1


async def left() -> int:
    row = await connector.execute_query_one_async(
        "SELECT count(*) AS left FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    )
    return int(row["left"])


async def main() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for made in range(0, JOBS, 1_000):
            await noop.batch_defer_async(*[{}] * min(1_000, JOBS - made))
        cpu, begin = time.process_time(), time.monotonic()
        worker = asyncio.create_task(
            app.run_worker_async(
                concurrency=CONCURRENCY, install_signal_handlers=False, delete_jobs="never"
            )
        )
        while done < JOBS or await left():
            if worker.done():
                await worker
            await asyncio.sleep(0.01)
        seconds = time.monotonic() - begin
        used = time.process_time() - cpu

        while not started.empty():
            started.get_nowait()
        latencies = []
        for _ in range(SINGLES):
            created = time.monotonic()
            await noop.defer_async()
            latencies.append((await started.get() - created) * 1_000)
        latencies.sort()
        figures = {
            "library": "procrastinate",
            "jobs": JOBS,
            "concurrency": CONCURRENCY,
            "jobsPerSecond": JOBS / seconds,
            "cpuPerJobMicros": used / JOBS * 1e6,
            "startP50Ms": latencies[SINGLES // 2],
            "startP99Ms": latencies[SINGLES * 99 // 100],
        }
        print(json.dumps(figures, separators=(",", ":")), file=sys.stderr)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


asyncio.run(main())
