#!/usr/bin/env bash
# Starts the clinic in simulation, books an appointment as a contact would, shows it, and stops. RECADO: the program, if it is built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$(mktemp -d)
port=${PORT:-8095}
export RECADO_CONFIG=$here/recado.toml RECADO_DATA=$data RECADO_ADDR=127.0.0.1:$port RECADO_SIMULATION=auto
export RECADO_TOKEN=token-of-the-example-of-32-characters RECADO_DEBOUNCE_SECONDS=0 RECADO_SIMULATED_LATENCY_MS=0
unset ANTHROPIC_API_KEY EVOLUTION_API_KEY
program=${RECADO:-}
if [ -z "$program" ]; then
  (cd "$here/../.." && cargo build --quiet --package recado)
  program=$here/../../target/debug/recado
fi
url=http://127.0.0.1:$port
"$program" serve >"$data/log" 2>&1 &
served=$!
trap 'kill $served 2>/dev/null; wait $served 2>/dev/null || true; rm -rf "$data"' EXIT
for _ in $(seq 100); do curl -sf -o /dev/null "$url/health" && break; sleep 0.1; done

replies() { curl -sS -H "Authorization: Bearer $RECADO_TOKEN" "$url/simulator/outbox"; }
count() { replies | { grep -o '"message_id"' || true; } | wc -l; }
line=$("$program" try --url "$url")

# Posts a text as the contact, and waits for the reply.
say() {
  local before text
  before=$(count)
  text=${1//\"/\\\\\"}
  echo "→ $1"
  bash -c "${line/Qual o horario de funcionamento?/$text}" >/dev/null
  for _ in $(seq 100); do [ "$(count)" -gt "$before" ] && break; sleep 0.1; done
  last=$(replies | { grep -o '"text":"\[simulated\][^}]*","provider' || true; } | tail -n 1)
  echo "← ${last%%\",\"provider*}"
}

say 'call agenda_free_slots: {}'
start=$(grep -o '(start [^)]*' <<<"$last" | head -n 1 | cut -d ' ' -f 2)
say "call agenda_book: {\"start\": \"$start\", \"title\": \"Maria, check-up\"}"
say 'call agenda_appointments: {}'
grep -q "$start" <<<"$last" || { echo "the appointment was not booked" >&2; exit 1; }
echo "Booked: $start"
