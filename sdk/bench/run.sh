#!/usr/bin/env bash
# Measures each library beside the usual ones of its language, on the same machine in the same run:
# jobs enqueued one by one, 50 at a time; a drain of jobs that do nothing, 100 at once and one by one; and
# the time from the create request to the start of a single job.
# `cargo xtask bench sdk [jobs]` builds the server as it is shipped and calls this. What is not installed
# (Node, Redis, PostgreSQL, …) is named and left out.
#   STEADFAST_BIN   the server
#   RUST_ADAPTER    the example conformance_adapter of crates/client, built for release
#   PLACE           where packages of the others are installed, and stores are kept
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sdk=$(dirname "$here")
jobs=${1:-20000}
: "${STEADFAST_BIN:?the binary of the server}"
PLACE=$(mkdir -p "${PLACE:-$sdk/../target/sdk-bench}" && cd "${PLACE:-$sdk/../target/sdk-bench}" && pwd)
results=$PLACE/results.jsonl
: >"$results"
work=$(mktemp -d)
started=()
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; wait; rm -rf "$work"' EXIT

skip() { echo "left out: $*"; }
has() { command -v "$1" >/dev/null; }
label() { sed "s|^{\"[a-z]*\":\"[^\"]*\"|{\"library\":\"$1\"|"; }

if ! has go; then
    echo "missing: Go, which the measuring program is written in"
    exit 1
fi
(cd "$sdk/conformance" && go build -o "$work/conformance" .)
ours() {
    local name=$1 adapter=$2
    for store in "" memory:; do
        "$work/conformance" --adapter "$adapter" --bin "$STEADFAST_BIN" --bench "$jobs" --store "$store" |
            label "$name, ${store:-SQLite}" >>"$results"
    done
}

# Runs the program of another library, whose figures are the line of JSON on stderr.
theirs() {
    local name=$1
    shift
    if timeout 300 "$@" 2>"$work/said" >/dev/null && grep '^{' "$work/said" >"$work/figures"; then
        label "$name" <"$work/figures" >>"$results"
    else
        skip "$name, which failed:"
        tail -5 "$work/said"
    fi
}

# A PostgreSQL of its own, which syncs as it does by default. Its programs refuse to run as root.
postgres_url=
start_postgres() {
    local programs as=()
    programs=$(dirname "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -1)") || true
    if [ ! -x "$programs/initdb" ]; then
        skip "what runs on PostgreSQL: it is not installed (apt-get install postgresql)"
        return
    fi
    mkdir "$work/postgres"
    if [ "$(id -u)" = 0 ]; then
        as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
        chmod 755 "$work"
        chown postgres:postgres "$work/postgres"
    fi
    "${as[@]}" "$programs/initdb" -D "$work/postgres/data" -U postgres -A trust -E UTF8 --locale=C >/dev/null
    "${as[@]}" "$programs/postgres" -D "$work/postgres/data" -k "$work/postgres" -h 127.0.0.1 -p 7481 \
        >"$work/postgres.log" 2>&1 &
    started+=($!)
    postgres_url=postgres://postgres@127.0.0.1:7481
    for _ in $(seq 100); do
        if psql -q "$postgres_url/postgres" -c "SELECT 1" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    cat "$work/postgres.log"
    exit 1
}
fresh_database() { psql -q "$postgres_url/postgres" -c "DROP DATABASE IF EXISTS bench" -c "CREATE DATABASE bench"; }

# Redis loses the last second on a power cut as it is usually set up; with appendfsync always it keeps
# what it has acknowledged, as our server does. Each program gets an empty one.
redis_port=7482
on_redis() {
    local name=$1
    shift
    redis_port=$((redis_port + 1))
    mkdir "$work/redis-$redis_port"
    redis-server --dir "$work/redis-$redis_port" --port "$redis_port" --bind 127.0.0.1 --save '' \
        --appendonly yes --appendfsync always >/dev/null &
    local server=$!
    started+=("$server")
    for _ in $(seq 50); do
        if redis-cli -p "$redis_port" ping >/dev/null 2>&1; then break; fi
        sleep 0.1
    done
    theirs "$name" env REDIS_PORT="$redis_port" "$@"
    kill "$server"
}

start_postgres

if has node && has npm; then
    (cd "$sdk/typescript" && { [ -e build/conformance/adapter.js ] || { npm ci && npm run build && npx tsc -p tsconfig.test.json; } >/dev/null; })
    ours typescript "$sdk/typescript/conformance-adapter"
    if has redis-server; then
        mkdir -p "$PLACE/bullmq"
        cp "$here"/bullmq/* "$PLACE/bullmq/"
        (cd "$PLACE/bullmq" && npm install --no-audit --no-fund --loglevel=error >/dev/null)
        on_redis "BullMQ, Redis synced" node "$PLACE/bullmq/bench.mjs" "$jobs"
    else
        skip "BullMQ: Redis is not installed (apt-get install redis-server)"
    fi
else
    skip "typescript: Node is not installed"
fi

python=${PYTHON:-python3}
if "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    if [ ! -x "$PLACE/python/bin/python" ]; then
        "$python" -m venv "$PLACE/python"
        "$PLACE/python/bin/pip" install --quiet "procrastinate==3.*" "psycopg[binary,pool]" \
            "dramatiq[redis]==2.*" "arq==0.*"
    fi
    PYTHON=$PLACE/python/bin/python ours python "$sdk/python/conformance-adapter"
    if has redis-server; then
        on_redis "dramatiq, Redis synced" "$PLACE/python/bin/python" "$here/dramatiq/bench.py" "$jobs"
        on_redis "arq, Redis synced" "$PLACE/python/bin/python" "$here/arq/bench.py" "$jobs"
    else
        skip "dramatiq and arq: Redis is not installed"
    fi
    if [ -n "$postgres_url" ]; then
        fresh_database
        theirs "Procrastinate, PostgreSQL" env DATABASE_URL="$postgres_url/bench" \
            "$PLACE/python/bin/python" "$here/procrastinate/bench.py" "$jobs"
    fi
else
    skip "python: Python 3.10 or later is not installed"
fi

ours go "$sdk/go/conformance-adapter"
if [ -n "$postgres_url" ]; then
    fresh_database
    (cd "$here/river" && go build -o "$work/river" .)
    theirs "River, PostgreSQL" env DATABASE_URL="$postgres_url/bench" "$work/river" -jobs "$jobs"
fi
if has redis-server; then
    (cd "$here/asynq" && go build -o "$work/asynq" .)
    on_redis "Asynq, Redis synced" "$work/asynq" -jobs "$jobs"
else
    skip "Asynq: Redis is not installed"
fi
if [ -x "${RUST_ADAPTER:-}" ]; then
    ours rust "$RUST_ADAPTER"
else
    skip "rust: RUST_ADAPTER names no program"
fi

echo
echo "Jobs are created by another process for our libraries, and by the worker's own for the others."
printf '%-28s %12s %10s %12s %14s %12s %12s\n' library enqueues/s jobs/s "one by one/s" \
    "CPU µs per job" "start p50 ms" "start p99 ms"
number() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }
figure() {
    local found
    found=$(number "$2" <<<"$1")
    if [ -n "$found" ]; then printf "%.$3f" "$found"; else printf -- -; fi
}
while read -r line; do
    name=$(sed -n 's/^{"library":"\([^"]*\)".*/\1/p' <<<"$line")
    printf '%-28s %12s %10s %12s %14s %12s %12s\n' "$name" "$(figure "$line" enqueuesPerSecond 0)" \
        "$(figure "$line" jobsPerSecond 0)" "$(figure "$line" oneByOnePerSecond 0)" \
        "$(figure "$line" cpuPerJobMicros 0)" "$(figure "$line" startP50Ms 1)" "$(figure "$line" startP99Ms 0)"
done <"$results"
