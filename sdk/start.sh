#!/usr/bin/env bash
# Follows the start of a library's README to the letter: start.sh go README FILE saves its first code as
# FILE in an empty directory, runs its first shell lines there, and ends the last of them with Ctrl-C
# once the job has succeeded. The server, which the README has built before, is that of STEADFAST_BIN.
set -euo pipefail
language=$1 readme=$(realpath "$2") file=$3
: "${STEADFAST_BIN:?the binary of the server}"
STEADFAST_BIN=$(realpath "$STEADFAST_BIN")
STEADFAST=$(cd "$(dirname "$0")/.." && pwd)
export STEADFAST GOWORK=off
place=$(mktemp -d)
server=
program=
end() {
    if [ -n "$program" ]; then kill -KILL -- "-$program" 2>/dev/null || true; fi
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$place"
}
trap end EXIT

# The first block of a language, without its fences.
block() { awk -v start="\`\`\`$1" '$0 == start && !seen { seen = inside = 1; next } $0 == "```" { inside = 0 } inside' "$readme"; }

mkdir "$place/project" "$place/server"
touch "$place/said"
block "$language" >"$place/project/$file"
block sh >"$place/lines"
[ -s "$place/project/$file" ] && [ -s "$place/lines" ] || { echo "$readme does not begin with a program and how to run it"; exit 1; }

cd "$place/server"
env -u STEADFAST_URL "$STEADFAST_BIN" serve --listen 127.0.0.1:0 >"$place/said" 2>&1 &
server=$!
until url=$(grep -om1 'http://127[0-9.:]*' "$place/said"); do
    kill -0 "$server" || { cat "$place/said"; exit 1; }
    sleep 0.05
done
export STEADFAST_URL=$url

cd "$place/project"
# As in a terminal, the program has a process group of its own, which Ctrl-C reaches.
set -m
bash -euo pipefail "$place/lines" >"$place/output" 2>&1 &
program=$!
set +m
until "$STEADFAST_BIN" jobs list --label succeeded | grep welcome >/dev/null; do
    kill -0 "$program" 2>/dev/null || { cat "$place/output"; exit 1; }
    sleep 0.2
done
kill -INT -- "-$program"
wait "$program" && code=0 || code=$?
program=
if [ "$code" != 0 ]; then
    cat "$place/output"
    echo "it ended with $code"
    exit 1
fi
