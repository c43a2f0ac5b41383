#!/usr/bin/env bash
# Starts the clinic in simulation, asks it a question and books an appointment as a contact would, shows both, and stops.
# RECADO: the program, if it is built. PORT: its port; if absent, any that is free.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$(mktemp -d)
export RECADO_CONFIG=$here/recado.toml RECADO_DATA=$data RECADO_ADDR=127.0.0.1:${PORT:-0} RECADO_SIMULATION=auto
export RECADO_TOKEN=token-of-the-example-of-32-characters RECADO_DEBOUNCE_SECONDS=0 RECADO_SIMULATED_LATENCY_MS=0
unset ANTHROPIC_API_KEY EVOLUTION_API_KEY
program=${RECADO:-}
if [ -z "$program" ]; then
  (cd "$here/../.." && cargo build --quiet --package recado)
  program=$here/../../target/debug/recado
fi
"$program" serve >"$data/log" 2>&1 &
served=$!
trap 'kill $served 2>/dev/null; wait $served 2>/dev/null || true; rm -rf "$data"' EXIT
for _ in $(seq 300); do [ -s "$data/address" ] && break; sleep 0.1; done
url=$(cat "$data/address")
curl -sSf -o /dev/null --retry 50 --retry-delay 1 --retry-all-errors "$url/health"
"$program" knowledge add ana "$here/knowledge" --url "$url" >/dev/null

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

say 'How much is a check-up?'
grep -q 'R$ 150' <<<"$last" || { echo "the question was not answered from the documents" >&2; exit 1; }
say 'call agenda_free_slots: {}'
start=$(grep -o '(start [^)]*' <<<"$last" | head -n 1 | cut -d ' ' -f 2)
say "call agenda_book: {\"start\": \"$start\", \"title\": \"Maria, check-up\"}"
say 'call agenda_appointments: {}'
grep -q "$start" <<<"$last" || { echo "the appointment was not booked" >&2; exit 1; }
echo "Booked: $start"
