#!/usr/bin/env bash
# Runs a command with the emulator up, on a free port (or on $PORT): run.sh COMMAND …
# EMULATOR_OPTIONS=--check-permissions lets the functions do only what their roles allow.
set -euo pipefail
cd "$(dirname "$0")/../.."
free_port='import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
port=${PORT:-$(python3 -c "$free_port")}
emulator="tests/emulator/emulator.py"
trap '"$emulator" stop --port "$port" || true' EXIT
# shellcheck disable=SC2086
"$emulator" start --port "$port" ${EMULATOR_OPTIONS:-}
RECADO_EMULATOR="http://127.0.0.1:$port" "$@"
