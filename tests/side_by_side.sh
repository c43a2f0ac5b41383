#!/usr/bin/env bash
# Runs two targets of the Makefile at once: side_by_side.sh WAITING BUSY. WAITING mostly waits for processes and servers; its
# output comes when both have ended. BUSY needs every core: it yields to the other, so that its waits stay short.
set -uo pipefail
cd "$(dirname "$0")/.."
output=$(mktemp)
set -m
make --no-print-directory "$1" >"$output" 2>&1 &
waiting=$!
set +m
trap 'kill -- -"$waiting" 2>/dev/null; rm -f "$output"' EXIT
trap 'exit 130' INT TERM
nice -n 10 make --no-print-directory "$2"
busy_result=$?
wait "$waiting"
waiting_result=$?
echo "== $1, which ran beside $2 =="
cat "$output"
[ "$busy_result" = 0 ] || echo "make $2 failed: $busy_result (above)" >&2
[ "$waiting_result" = 0 ] || echo "make $1 failed: $waiting_result" >&2
exit $((busy_result ? busy_result : waiting_result))
