#!/usr/bin/env node
// The same few calls in JavaScript, with Node 20 and nothing else: sends a message, finds its conversation, answers in it as a person, waits
// until the answer is sent, and gives the conversation back to the agent. `recado.mjs verify <BODY` verifies a request that Recado posted.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";

const url = process.env.RECADO_URL ?? "http://127.0.0.1:8080";
const instance = process.env.RECADO_INSTANCE ?? "suporte-01";
const authorization = `Bearer ${process.env.RECADO_TOKEN}`;

// Sends a request and returns the JSON of its answer. An answer other than a success is an error with its `detail`.
async function call(method, path, body, headers = {}) {
  if (body) headers = { "content-type": "application/json", ...headers };
  const answer = await fetch(url + path, { method, headers: { authorization, ...headers }, body: body && JSON.stringify(body) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${told.detail}`);
  return told;
}

// Yields each event behind a place, for ever. A stream that ends is opened again behind the last event.
async function* follow(after, kind) {
  for (;;) {
    const query = new URLSearchParams({ after, kind });
    const answer = await fetch(`${url}/v1/events/stream?${query}`, { headers: { authorization } });
    if (!answer.ok) throw new Error(`no events: ${answer.status}`);
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const piece of answer.body) {
        const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
        rest = lines.pop();
        for (const line of lines.filter((line) => line.startsWith("data:"))) {
          const event = JSON.parse(line.slice(5));
          after = event.cursor;
          yield event;
        }
      }
    } catch {
      // It was cut off.
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

// Returns if Recado posted this body lately, by the headers of its request (https://www.standardwebhooks.com).
function verify(secret, headers, body) {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"])) > 300) throw new Error("this request is old");
  const hash = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`).update(body);
  const expected = Buffer.from(`v1,${hash.digest("base64")}`);
  // While a secret is replaced there are several signatures.
  const given = headers["webhook-signature"].split(" ").map((one) => Buffer.from(one));
  if (!given.some((one) => one.length === expected.length && timingSafeEqual(one, expected))) {
    throw new Error("this request is not from Recado");
  }
}

async function main() {
  const { next } = await call("GET", "/v1/events?after=now&limit=1");

  // A repeat with the same message_id sends nothing.
  const order = { to: "+55 11 90000-0103", text: "Seu pedido saiu.", message_id: "node-order-1" };
  const sent = await call("POST", `/v1/instances/${instance}/messages`, order);
  console.log("message", sent.id);

  const listed = await call("GET", `/v1/conversations?${new URLSearchParams({ instance, limit: 10 })}`);
  const conversation = listed.items.find((one) => one.id === sent.conversation_id).id;
  console.log("conversation", conversation);

  const path = `/v1/conversations/${conversation}/messages`;
  const answer = await call("POST", path, { text: "Chega até as 18h." }, { "idempotency-key": "node-answer-1" });
  console.log("answer", answer.id);

  if (answer.status !== "sent") {
    // A repeated run finds it sent.
    for await (const event of follow(next, "message.status")) {
      if (event.message_id === answer.id && event.data.status === "sent") break;
    }
  }
  console.log("sent", answer.id);

  const returned = await call("PATCH", `/v1/conversations/${conversation}`, { mode: "ai" });
  console.log("mode", returned.mode);
}

if (process.argv[2] === "verify") {
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const headers = Object.fromEntries(names.map((name) => [name, process.env[name.toUpperCase().replaceAll("-", "_")]]));
  verify(process.env.WEBHOOK_SECRET, headers, readFileSync(0));
  console.log("genuine");
} else {
  await main();
}
