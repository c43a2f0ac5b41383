// An endpoint of a user's own system in another language: it proves each post with the library of Standard Webhooks.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

/** A receiver that refuses its first post and keeps all. */
async function startReceiver() {
  const posts = [];
  const server = createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      posts.push({ headers: request.headers, body: Buffer.concat(pieces).toString("utf8") });
      response.writeHead(posts.length === 1 ? 503 : 204).end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/recado`, posts, close: () => server.close() };
}

/** Waits until the receiver was told of a message, for half a minute at most. */
async function waitForMessage(posts) {
  for (let round = 0; round < 300; round += 1) {
    const accepted = posts.slice(1).filter((post) => JSON.parse(post.body).kind === "message.created");
    if (accepted.length > 0) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`no message was posted: ${posts.length} posts`);
}

/** Each post is proven by the endpoint's secret, and while that is rotated by the one before, too. */
export async function receiveEvents({ api }) {
  const receiver = await startReceiver();
  try {
    const made = await api("POST", "/v1/webhooks", { id: "crm", url: receiver.url, kinds: ["message.created"] });
    await api("POST", "/simulator/messages", { instance_id: "suporte-01", from: "+55 11 90000-0077", name: "Rui", text: "Hello?" });
    await waitForMessage(receiver.posts);
    for (const { headers, body } of receiver.posts) {
      const event = new Webhook(made.secret).verify(body, headers);
      assert.equal(event.id, headers["webhook-id"]);
      assert.ok(!body.includes("Rui") && !body.includes("Hello?"), "an event holds no name and no text");
      assert.throws(() => new Webhook(made.secret).verify(body.replace("message", "massage"), headers));
    }
    const rotated = await api("POST", "/v1/webhooks/crm/secret/rotate", {});
    const tested = await api("POST", "/v1/webhooks/crm/test");
    assert.deepEqual([tested.accepted, tested.status], [true, 204]);
    const test = receiver.posts.find((post) => JSON.parse(post.body).kind === "webhook.test");
    for (const secret of [made.secret, rotated.secret]) new Webhook(secret).verify(test.body, test.headers);
    assert.throws(() => new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").verify(test.body, test.headers));
    await api("DELETE", "/v1/webhooks/crm");
  } finally {
    receiver.close();
  }
}

/** An endpoint is added, tested, switched off and given a new secret in the console. It stays, for the pictures. */
export async function manageEndpoints({ page, url, api }) {
  const receiver = await startReceiver();
  try {
    await page.goto(`${url}/console/endpoints`);
    const form = page.locator("#endpoint-form");
    await form.getByLabel("Id", { exact: true }).fill("erp");
    await form.getByLabel("Address", { exact: true }).fill(receiver.url);
    await form.getByLabel(/^Kinds of events/).fill("alert.*");
    await form.getByRole("button", { name: "Add an endpoint" }).click();
    await page.getByText("It is shown only now").waitFor();
    const secret = await page.locator("#created #secret").textContent();
    await page.goto(`${url}/console/endpoints`);
    await page.getByRole("link", { name: /erp/ }).click();
    const test = page.getByRole("button", { name: "Send a test event" });
    await test.click();
    await page.getByText("The endpoint did not accept the test").waitFor();
    await test.click();
    await page.getByText("The endpoint accepted the test with status 204").waitFor();
    const { headers, body } = receiver.posts.at(-1);
    assert.equal(new Webhook(secret).verify(body, headers).kind, "webhook.test");
    await page.locator("#rotate-form").getByRole("button").click();
    await page.locator("#rotated #secret").waitFor();
    assert.notEqual(await page.locator("#rotated #secret").textContent(), secret);
    await page.locator("#endpoint-form").getByLabel("Disabled: ").check();
    await page.locator("#endpoint-form").getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.locator("h1 .badge", { hasText: "Disabled" }).waitFor();
    await page.locator("#replay-form input[type=datetime-local]").fill("2026-11-01T10:30");
    await page.locator("#replay-form").getByRole("button").click();
    await page.getByText("Saved.").waitFor();
    const { disabled, kinds } = await api("GET", "/v1/webhooks/erp");
    assert.deepEqual([disabled, kinds], [true, ["alert.*"]]);
  } finally {
    receiver.close();
  }
}
