#!/usr/bin/env bash
# The same few calls with curl: sends a message, finds its conversation, answers in it as a person, waits until the answer is sent, and
# gives the conversation back to the agent. `recado.sh verify <BODY` verifies a request that Recado posted, with openssl.
set -euo pipefail

url=${RECADO_URL:-http://127.0.0.1:8080}
instance=${RECADO_INSTANCE:-suporte-01}

# Sends a request with the token. An answer other than a success ends the script.
call() {
  curl -sS --fail-with-body -H "Authorization: Bearer $RECADO_TOKEN" "$@"
}

# Prints the first field of this name that a JSON text has.
field() {
  [[ $2 =~ \"$1\":\ ?\"([^\"]*)\" ]] && printf '%s' "${BASH_REMATCH[1]}"
}

# Follows the events behind a place until a message is sent. A stream that ends is opened again behind the last event.
wait_until_sent() {
  local after=$1 message=$2 line stream reader
  while true; do
    exec {stream}< <(exec curl -sSN -H "Authorization: Bearer $RECADO_TOKEN" "$url/v1/events/stream?after=$after&kind=message.status")
    reader=$!
    while IFS= read -r -u "$stream" line; do
      case $line in
        id:*) after=${line#id: } ;;
        data:*"\"message_id\":\"$message\""*'"status":"sent"'*) kill "$reader"; return ;;
      esac
    done
    exec {stream}<&-
    sleep 1
  done
}

# Verifies a body by the headers of its request (https://www.standardwebhooks.com). Recado signs alerts and other posts so.
verify() {
  local age key expected one
  age=$(($(date +%s) - WEBHOOK_TIMESTAMP))
  [ "${age#-}" -le 300 ] || { echo "this request is old" >&2; return 1; }
  key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
  expected=v1,$({ printf '%s.%s.' "$WEBHOOK_ID" "$WEBHOOK_TIMESTAMP"; cat; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
  # While a secret is replaced there are several signatures.
  for one in $WEBHOOK_SIGNATURE; do
    if [ "$one" = "$expected" ]; then echo genuine; return; fi
  done
  echo "this request is not from Recado" >&2
  return 1
}

if [ "${1:-}" = verify ]; then
  verify
  exit
fi

place=$(field next "$(call "$url/v1/events?after=now&limit=1")")

# A repeat with the same message_id sends nothing.
sent=$(call --json '{"to": "+55 11 90000-0101", "text": "Seu pedido saiu.", "message_id": "curl-order-1"}' \
  "$url/v1/instances/$instance/messages")
echo "message $(field id "$sent")"

listed=$(call "$url/v1/conversations?instance=$instance&limit=10")
conversation=$(field conversation_id "$sent")
[[ $listed == *"$conversation"* ]]
echo "conversation $conversation"

answered=$(call -H 'Idempotency-Key: curl-answer-1' --json '{"text": "Chega até as 18h."}' "$url/v1/conversations/$conversation/messages")
answer=$(field id "$answered")
echo "answer $answer"

# A repeated run finds it sent.
[ "$(field status "$answered")" = sent ] || wait_until_sent "$place" "$answer"
echo "sent $answer"

returned=$(call -X PATCH --json '{"mode": "ai"}' "$url/v1/conversations/$conversation")
echo "mode $(field mode "$returned")"
