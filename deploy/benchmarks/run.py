#!/usr/bin/env python3
"""Runs a public comparison of job queues on PostgreSQL with Steadfast beside the others, without Docker.

    python3 deploy/benchmarks/run.py HARNESS --systems steadfast,river --phase warmup=warmup:30s …

HARNESS is a checkout of hardbyte/postgresql-job-queue-benchmarking; all other arguments are those of
its `bench.py run`. Each system gets a PostgreSQL of its own on port 15555, from the packages of this
machine, with the harness's postgres.conf. Needs the Python packages that the harness needs.

Adapters of the harness run in Docker; here each is a command in a variable, started in its folder, such
as NATIVE_RIVER=/path/to/river-bench or NATIVE_PROCRASTINATE="/path/to/venv/bin/python main.py".
STEADFAST_ADAPTER is the example `long_horizon` of crates/bench, built for release.
"""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ADAPTER = HERE.parent.parent / "target/release/examples/long_horizon"
PORT = 15555


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    harness = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(harness))
    from bench_harness import adapters, orchestrator

    with tempfile.TemporaryDirectory(prefix="job-queues-") as place:
        postgres = Postgres(Path(place), harness / "postgres.conf")
        orchestrator.start_postgres = lambda _: postgres.start_anew()
        orchestrator.stop_postgres = lambda _: postgres.stop()
        orchestrator._compose_stop_postgres = lambda _: postgres.stop()
        orchestrator._compose_start_postgres = lambda _: postgres.start()
        register(adapters)
        try:
            return orchestrator.main(["run", *sys.argv[2:]])
        finally:
            postgres.stop()


def register(adapters) -> None:
    """Steadfast, and commands in place of containers."""
    adapters.ADAPTERS["steadfast"] = adapters.AdapterEntry(
        bench_dir=HERE,
        builder=lambda _: None,
        launcher=native(adapters, [os.environ.get("STEADFAST_ADAPTER", str(ADAPTER))], None),
    )
    for name, entry in adapters.ADAPTERS.items():
        command = os.environ.get(f"NATIVE_{name.upper().replace('-', '_')}")
        if command:
            entry.builder = lambda _: None
            entry.launcher = native(adapters, shlex.split(command), str(entry.bench_dir))


def native(adapters, argv: list[str], folder: str | None):
    def launch(manifest, overrides):
        env = adapters._base_env(manifest, overrides)
        return adapters.LaunchSpec(argv=argv, env=env, cwd=folder)

    return launch


class Postgres:
    """A server with the settings of the harness. Its programs refuse to run as root."""

    def __init__(self, place: Path, settings: Path) -> None:
        found = shutil.which("initdb")
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found and not programs:
            sys.exit("missing: PostgreSQL (apt-get install postgresql postgresql-contrib)")
        self.programs = Path(programs[-1]) if programs else Path(found).resolve().parent
        self.place = place
        self.settings = settings
        self.process: subprocess.Popen | None = None
        self.user: list[str] = []
        if os.geteuid() == 0:
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            place.chmod(0o777)

    def start_anew(self) -> None:
        self.stop()
        data = self.place / "data"
        shutil.rmtree(data, ignore_errors=True)
        initdb = [self.programs / "initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8"]
        self.call(*initdb, "--locale=C")
        with (data / "postgresql.auto.conf").open("a") as file:
            file.write(self.settings.read_text())
            file.write(f"\nport = {PORT}\nunix_socket_directories = '{self.place}'\n")
        self.start()

    def start(self) -> None:
        command = [*self.user, self.programs / "postgres", "-D", self.place / "data"]
        with (self.place / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(PORT)]
        for _ in range(300):
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.1)
        sys.exit((self.place / "log").read_text())

    def stop(self) -> None:
        if self.process:
            # As Docker stops it: sessions end at once, and the data is complete.
            self.call(self.programs / "pg_ctl", "-D", self.place / "data", "-m", "fast", "stop")
            self.process.wait()
            self.process = None

    def call(self, *command: object) -> None:
        subprocess.run([*self.user, *map(str, command)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
