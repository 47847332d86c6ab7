"""Measures dramatiq on Redis: single enqueues from 50 threads, and a drain of jobs that do nothing.

bench.py JOBS, with REDIS_PORT; the figures go to stderr.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dramatiq
from dramatiq.brokers.redis import RedisBroker

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
CONCURRENCY = 100
ENQUEUES = 2_000
ONE_BY_ONE = 500

logging.disable(logging.WARNING)
broker = RedisBroker(host="127.0.0.1", port=int(os.environ["REDIS_PORT"]))
dramatiq.set_broker(broker)
lock = threading.Lock()
done = 0


@dramatiq.actor(max_retries=0)
def noop() -> None:
    global done
    os.write(1, b'{"event":"start"}\n')
    os.write(1, b'{"event":"end"}\n')
    with lock:
        done += 1


def drain(count: int, threads: int) -> tuple[float, float]:
    """The seconds that a worker takes for what waits, and its CPU time."""
    global done
    done = 0
    cpu, begin = time.process_time(), time.monotonic()
    worker = dramatiq.Worker(broker, worker_threads=threads, worker_timeout=100)
    worker.start()
    while done < count:
        time.sleep(0.005)
    broker.join(noop.queue_name)
    seconds, used = time.monotonic() - begin, time.process_time() - cpu
    worker.stop()
    return seconds, used


begin = time.monotonic()
with ThreadPoolExecutor(50) as pool:
    for sent in [pool.submit(noop.send) for _ in range(ENQUEUES)]:
        sent.result()
enqueue_seconds = time.monotonic() - begin
for _ in range(JOBS - ENQUEUES):
    noop.send()
seconds, used = drain(JOBS, CONCURRENCY)
for _ in range(ONE_BY_ONE):
    noop.send()
one_seconds, _ = drain(ONE_BY_ONE, 1)
figures = {
    "library": "dramatiq",
    "jobs": JOBS,
    "concurrency": CONCURRENCY,
    "jobsPerSecond": JOBS / seconds,
    "enqueuesPerSecond": ENQUEUES / enqueue_seconds,
    "oneByOnePerSecond": ONE_BY_ONE / one_seconds,
    "cpuPerJobMicros": used / JOBS * 1e6,
}
print(json.dumps(figures, separators=(",", ":")), file=sys.stderr)
os._exit(0)
