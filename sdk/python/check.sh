#!/usr/bin/env bash
# Everything about the Python library: format, lints, types, tests, conformance, and the package in
# an empty project. Needs STEADFAST_BIN, Python 3.10 or later, and Go for the conformance program.
# PYTHON and OLDEST_PYTHON name interpreters other than the newest and 3.10.
# --short leaves out the second type checker, pyright, and the oldest Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
here=$PWD
: "${STEADFAST_BIN:?must name the server\'s binary, such as target/debug/steadfast}"
STEADFAST_BIN=$(realpath "$STEADFAST_BIN")
export STEADFAST_BIN PIP_DISABLE_PIP_VERSION_CHECK=1
unset STEADFAST_URL STEADFAST_API_KEY

find_python() {
    local version candidate
    for version in "$@"; do
        for candidate in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
            if "$candidate" -c 'import venv' 2>/dev/null; then
                echo "$candidate"
                return
            fi
        done
    done
    return 1
}

step() { echo "python: $*"; }

# An environment is made again when what it needs has changed.
environment() {
    local directory=$1 python=$2 wanted
    shift 2
    wanted="$python $* $(cat pyproject.toml)"
    if [ "$(cat "$directory/wanted" 2>/dev/null)" != "$wanted" ]; then
        rm -rf "$directory"
        "$python" -m venv "$directory"
        "$directory/bin/python" -m pip install --quiet --editable . "$@"
        echo "$wanted" >"$directory/wanted"
    fi
}

form=${1:-}
python=${PYTHON:-$(find_python 3.13 3.12 3.14 3.11 3.10)} || { echo "missing: Python 3.10 or later"; exit 1; }
tools=(build hatchling "ruff==0.17.*" "mypy==2.4.*" "pytest==9.*" "pytest-asyncio==1.*" "pydantic==2.*" "fastapi<1" "httpx<1" "opentelemetry-sdk==1.*" "celery>=5.4")
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    tools+=("django>=6.0")
else
    step "Python 3.12 or later is missing, so Django is left out"
fi
venv=.venv-short
if [ "$form" != --short ]; then
    venv=.venv
    tools+=("pyright==1.1.414")
fi
step "environment with $("$python" --version)"
environment "$venv" "$python" "${tools[@]}"
bin=$here/$venv/bin

step "format and lints"
"$bin/ruff" format --quiet --check . || { echo "run: ruff format sdk/python"; exit 1; }
"$bin/ruff" check --quiet .
step "types"
"$bin/mypy"
[ "$form" = --short ] || "$bin/pyright" --pythonpath "$bin/python" --warnings

step "tests"
"$bin/python" -m pytest

if [ "$form" = --short ]; then
    step "the oldest version is left out"
elif oldest=${OLDEST_PYTHON:-$(find_python 3.10)}; then
    step "tests that need no server, with $("$oldest" --version)"
    environment .venv-oldest "$oldest" "pytest<10" "pytest-asyncio<2"
    .venv-oldest/bin/python -m pytest tests/test_jobs.py tests/test_payloads.py tests/test_webhooks.py
else
    step "Python 3.10 is missing, so the oldest version is not tested"
fi

step "conformance"
if command -v go >/dev/null; then
    (cd ../conformance && PYTHON=$bin/python go run . --adapter "$here/conformance-adapter" --bin "$STEADFAST_BIN")
else
    step "Go is missing, so the conformance program is left out"
fi

step "the start of the README"
PATH=$bin:$PATH ../start.sh python README.md jobs.py

step "package"
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
"$bin/python" -m build --no-isolation --outdir "$project/dist" . >"$project/build.log" || { cat "$project/build.log"; exit 1; }
(
    cd "$project"
    "$python" -m venv venv
    venv/bin/python -m pip install --quiet dist/*.whl
    "$bin/python" - "$here/README.md" >jobs.py <<'PYTHON'
import re, sys
print(re.search(r"```python\n(.*?)```", open(sys.argv[1]).read(), re.DOTALL)[1])
PYTHON
    venv/bin/steadfast-worker --version
    # The lines of the README against a server, outside the repository.
    venv/bin/python - <<'PYTHON'
from steadfast.testing import server
with server(arguments=["--store", "memory:"]) as started:
    import os
    os.environ["STEADFAST_URL"] = started.url
    from jobs import Welcome, app, welcome
    worker = app.worker()
    worker.start()
    assert welcome.enqueue(Welcome("Ada")).result() == "Hello, Ada!"
    worker.stop()
    assert worker.wait(10)
PYTHON
    # The installed package is typed for those who use it.
    "$bin/mypy" --strict --python-executable venv/bin/python --cache-dir cache jobs.py >types.log ||
        { cat types.log; exit 1; }
    # grep reads to the end: with -q it would stop early, and tar would fail of a broken pipe.
    tar -tzf dist/*.tar.gz | grep /py.typed >/dev/null
)
step "all is well"
