#!/usr/bin/env bash
# Writes the types and calls of all libraries again, after docs/openapi.json has changed; the tests of
# each say when that is needed. Needs Go, Node and Python.
set -euo pipefail
cd "$(dirname "$0")"
(cd go && GOWORK=off go generate ./...)
(cd typescript && node scripts/generate.mjs)
python=$(ls -d "$PWD"/python/.venv*/bin/python 2>/dev/null | head -1) || true
if ! "${python:-python3}" -m ruff --version >/dev/null 2>&1; then
    python=$PWD/python/.venv-generate/bin/python
    python3 -m venv "$(dirname "$(dirname "$python")")"
    "$python" -m pip install --quiet "ruff==0.17.*"
fi
"${python:-python3}" python/scripts/generate.py
git -C . status --short .
