#!/usr/bin/env bash
# Runs a command with the emulator up and the stack deployed to it: run.sh PORT COMMAND …
set -euo pipefail
cd "$(dirname "$0")/../.."
port=$1
shift
emulator="tests/emulator/emulator.py"
trap '"$emulator" stop --port "$port" || true' EXIT
"$emulator" start --port "$port"
RECADO_EMULATOR="http://127.0.0.1:$port" "$@"
