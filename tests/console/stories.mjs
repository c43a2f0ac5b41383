// What people do in the console.
import assert from "node:assert/strict";
import { TOKEN } from "./server.mjs";

const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const HOSTILE = `<img src=x onerror="globalThis.hacked = 1"><script>globalThis.hacked = 1</script>`;

export async function writeAsCustomer(page, url, { from, name, text }) {
  if (!page.url().endsWith("/console/simulator")) await page.goto(`${url}/console/simulator`);
  const form = page.locator("#simulator-form");
  await form.getByLabel("Instance").selectOption("suporte-01");
  await form.getByLabel("Phone number").fill(from);
  await form.getByLabel("Name").fill(name);
  await form.getByLabel("Text").fill(text);
  await form.getByRole("button", { name: "Send" }).click();
  await page.getByText("The message has arrived.").waitFor();
}

/** A conversation from its first message to its end, seen by a person in another window. Returns its address. */
export async function followConversation({ page, other, url }) {
  await writeAsCustomer(other, url, { from: "+55 11 90000-0002", name: "Maria", text: "Are you open on Saturday?" });
  await page.goto(`${url}/console/conversations`);
  await page.getByRole("link", { name: /Maria/ }).click();
  await page.getByRole("heading", { name: "Maria" }).waitFor();
  const address = page.url();
  await page.getByText("[simulated]").first().waitFor();
  assert.match(await page.locator(".bubble.assistant .cost").first().innerText(), /^\d\.\d+ USD$/);
  await writeAsCustomer(other, url, { from: "+55 11 90000-0002", name: "Maria", text: "A live question" });
  await page.getByText("A live question").first().waitFor();
  await page.locator(".bubble.assistant").nth(1).waitFor();
  await page.locator("details", { hasText: "How this answer was made" }).first().locator("summary").click();
  await page.getByRole("heading", { name: "Steps of the turn" }).first().waitFor();

  await page.getByRole("button", { name: "Take over" }).click();
  await page.getByRole("button", { name: "Give back to the agent" }).waitFor();
  await page.getByLabel("Answer", { exact: true }).fill("I am a person now.");
  await page.getByLabel("Answer", { exact: true }).press("Enter");
  await page.locator(".bubble.operator", { hasText: "I am a person now." }).waitFor();
  await page.locator("input[type=file]").setInputFiles({ name: "map.png", mimeType: "image/png", buffer: PICTURE });
  await page.locator(".chosen output", { hasText: "map.png" }).waitFor();
  await page.getByLabel("Answer", { exact: true }).fill("The way to us");
  await page.getByRole("button", { name: "Send", exact: true }).first().click();
  await page.locator(".bubble.operator", { hasText: "The way to us" }).waitFor();
  await page.getByRole("button", { name: "Give back to the agent" }).click();
  await page.getByRole("button", { name: "Take over" }).waitFor();
  return address;
}

/** Names, texts and files of a customer do nothing in the page. */
export async function showHostileTexts({ page, other, url }) {
  await writeAsCustomer(other, url, { from: "+55 11 90000-0066", name: HOSTILE.slice(0, 60), text: HOSTILE });
  await page.goto(`${url}/console/conversations`);
  await page.getByRole("link", { name: /onerror/ }).first().click();
  await page.locator(".bubble.user", { hasText: "globalThis.hacked" }).waitFor();
  await page.reload();
  for (const open of [page, other]) {
    const hacked = await open.evaluate(() => globalThis.hacked);
    assert.equal(hacked, undefined, "a customer's text ran in the page");
  }
}

/** Asks again until there is an answer: what follows a message takes a moment. */
export async function askUntil(ask) {
  for (let round = 0; round < 100; round += 1) {
    const found = await ask();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`nothing came: ${ask}`);
}

/** People label a conversation and write notes beside it. What they write is text, however it looks. */
export async function writeBeside({ page, other, thread }) {
  await page.goto(thread);
  await other.goto(thread);
  const open = page.getByText("Notes and labels");
  await open.click();
  const notes = page.locator("#note-form");
  await notes.getByLabel("New note").fill(HOSTILE);
  await notes.getByRole("button", { name: "Save the note" }).click();
  await page.locator("#notes", { hasText: "globalThis.hacked" }).waitFor();
  await other.locator("#notes", { hasText: "globalThis.hacked" }).waitFor();
  assert.equal(await notes.getByLabel("New note").inputValue(), "", "the form is empty after it was sent");
  const labels = page.locator("#label-form");
  await labels.getByLabel(/^New labels/).fill("VIP, retorno");
  await labels.getByRole("button", { name: "Add labels" }).click();
  await page.locator(".labels").getByRole("link", { name: "retorno" }).waitFor();
  await page.getByRole("button", { name: "Remove the label retorno" }).click();
  await page.locator(".labels").getByRole("link", { name: "retorno" }).waitFor({ state: "detached" });
  for (const open of [page, other]) {
    assert.equal(await open.evaluate(() => globalThis.hacked), undefined, "a note ran in the page");
  }
  assert.equal(await page.locator(".bubble", { hasText: "globalThis.hacked" }).count(), 0, "a note is no message");
  await page.locator(".labels").getByRole("link", { name: "vip" }).click();
  await page.getByRole("link", { name: /Maria/ }).waitFor();
  assert.equal(await page.locator("ul.rows a").count(), 1, "one conversation has the label");
}

export async function refuseLabel({ page, thread, expected }) {
  expected.push(/\/labels/);
  await page.goto(thread);
  await page.getByText("Notes and labels").click();
  const labels = page.locator("#label-form");
  await labels.getByLabel(/^New labels/).fill("<b>bold</b>");
  await labels.getByRole("button", { name: "Add labels" }).click();
  await page.locator("#message [role=alert]", { hasText: "one word" }).waitFor();
}

/** Words of a message find its conversation, once they are indexed, and the page says what it covers. */
export async function searchTexts({ page, url, api }) {
  await askUntil(async () => (await api("GET", "/v1/conversations?text=saturday")).items.length > 0);
  await page.goto(`${url}/console/conversations`);
  await page.keyboard.press("/");
  await page.keyboard.type("SATURD open");
  await page.keyboard.press("Enter");
  await page.locator("#searched").waitFor();
  await page.getByRole("link", { name: /Maria/ }).waitFor();
  await page.getByLabel("Words of a message").fill("nobody wrote this");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No conversation fits this filter.").waitFor();
}

/** A conversation is found by the name and by a part of the number of its contact. */
export async function searchContacts({ page, url, api }) {
  await askUntil(async () => (await api("GET", "/v1/conversations?contact=maria")).items.length > 0);
  for (const contact of ["MARI", "+55 11 90000-0002", "0002"]) {
    await page.goto(`${url}/console/conversations`);
    await page.getByLabel("Name or number of the contact").fill(contact);
    await page.getByRole("button", { name: "Filter" }).click();
    await page.locator("#searched").waitFor();
    await page.getByRole("link", { name: /Maria/ }).waitFor();
    assert.equal(await page.locator("ul.rows a").count(), 1, `one conversation is of ${contact}`);
  }
  await page.getByLabel("Name or number of the contact").fill("nobody");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No conversation fits this filter.").waitFor();
}

/** What a contact books is listed by its day, and once more with a mark when it is confirmed. */
export async function listAppointments({ page, other, url, api }) {
  const customer = { from: "+55 11 90000-0003", name: "Joana" };
  await writeAsCustomer(other, url, { ...customer, text: "call agenda_free_slots: {}" });
  const start = await askUntil(async () => JSON.stringify(await api("GET", "/simulator/outbox")).match(/\(start ([^)]+)\)/)?.[1]);
  const booking = JSON.stringify({ start, title: "Check-up <b>bold</b>" });
  await page.goto(`${url}/console/appointments`);
  await writeAsCustomer(other, url, { ...customer, text: `call agenda_book: ${booking}` });
  const row = page.getByRole("link", { name: /Joana/ });
  await row.waitFor();
  assert.match(await row.innerText(), /Check-up <b>bold<\/b>[^]*Booked/);
  assert.equal(await page.locator("h2.day time").first().getAttribute("datetime"), start.slice(0, 10));
  await writeAsCustomer(other, url, { ...customer, text: "call agenda_confirm: {}" });
  await askUntil(async () => (await api("GET", "/v1/appointments")).items[0].confirmed);
  await page.reload();
  await page.getByText("✓ Confirmed").waitFor();
  await row.click();
  await page.getByRole("heading", { name: "Joana" }).waitFor();
}

/** The keys lead through the list. What the agent answers is not new; what waits for a person is, until one opens it. */
export async function readWithKeys({ page, other, url, api }) {
  const nova = { from: "+55 11 90000-0004", name: "Nova" };
  await page.goto(`${url}/console/conversations`);
  await page.locator("ul.rows a").first().waitFor();
  await writeAsCustomer(other, url, { ...nova, text: "Hello?" });
  const row = page.getByRole("link", { name: /Nova/ });
  await row.waitFor();
  const ours = async () => (await api("GET", "/v1/conversations?limit=200")).items.find((item) => item.contact.name === "Nova");
  await askUntil(async () => !(await ours()).owed_answer);
  assert.equal((await ours()).unseen, false, "the agent answered");
  await api("PATCH", `/v1/conversations/${(await ours()).id}`, { mode: "manual" });
  await writeAsCustomer(other, url, { ...nova, text: "Is somebody there?" });
  await row.locator(".new").waitFor({ state: "visible" });
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  assert.equal(await page.evaluate(() => document.activeElement.id), await row.getAttribute("id"));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Nova" }).waitFor();
  await askUntil(async () => !(await ours()).unseen);
  await page.goto(`${url}/console/conversations`);
  await row.waitFor();
  assert.equal(await row.locator(".new").count(), 0);
}

export async function redriveDeadLetter({ page, url, api }) {
  await api("POST", "/v1/instances/meta-01/messages", { to: "+55 11 90000-0009", text: "Too late" });
  await page.goto(`${url}/console/dead-letters`);
  const letter = page.getByRole("link", { name: /More than 24 hours/ });
  await letter.waitFor();
  assert.match(await letter.innerText(), /5511900000009/, "a dead letter names the person");
  await page.reload();
  await page.getByRole("button", { name: "What would a redrive find?" }).click();
  await page.getByText("1 dead letters would be redriven").waitFor();
  await letter.click();
  await page.getByRole("heading", { name: /More than 24 hours/ }).waitFor();
  await page.getByRole("button", { name: "Redrive", exact: true }).click();
  await page.waitForURL(`${url}/console/dead-letters`);
  await page.getByText("Saved.").waitFor();
}

export async function tryKnowledge({ page, url, api }) {
  await page.goto(`${url}/console/agents/ana`);
  const form = page.locator("#knowledge-form");
  await form.getByLabel("Title", { exact: true }).fill("prices.md");
  await form.getByLabel(/^Text/).fill("# Prices\n\nThe vaccine costs 90 euros.");
  await form.getByRole("button").click();
  await page.getByRole("link", { name: /prices.md/ }).waitFor();
  await page.getByLabel("Or add a file").setInputFiles({
    name: "parking.txt", mimeType: "text/plain", buffer: Buffer.from("Parking is free behind the house."),
  });
  await page.getByRole("link", { name: /parking.txt/ }).waitFor();
  await page.getByLabel("Question").fill("What does the vaccine cost?");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("#found", { hasText: "90 euros" }).waitFor();
  await page.getByLabel("Instructions to the model").fill("You are Ana. Be brief.");
  await page.locator("#agent-form").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal(await page.getByLabel("Instructions to the model").inputValue(), "You are Ana. Be brief.");
  const { limits } = await api("GET", "/v1/agents/ana");
  assert.notEqual(limits?.end_loops, false, "a form switched off what it shows by its usual value");
}

export async function editHours({ page, url, api, expected }) {
  await page.goto(`${url}/console/instances/suporte-01`);
  expected.push(/api\/v1\/instances\/suporte%2D01/);
  await page.getByLabel("Monday").fill("9 to 5");
  const save = page.locator("#hours-form").getByRole("button", { name: "Save" });
  await save.click();
  await page.locator("#message [role=alert]").waitFor();
  await page.getByLabel("Monday").fill("00:00-12:00, 13:00-24:00");
  await page.getByLabel("Days with other hours").fill("2026-12-25: closed");
  await save.click();
  await page.getByText("Saved.").waitFor();
  const { opening_hours: hours, typing } = await api("GET", "/v1/instances/suporte-01");
  assert.deepEqual(hours.mon, ["00:00-12:00", "13:00-24:00"]);
  assert.equal(hours.exceptions.length, 1);
  assert.notEqual(typing, true);
}

export async function pairPhone({ page, url }) {
  await page.goto(`${url}/console/instances/caixa`);
  await page.getByRole("button", { name: "Pair a phone" }).click();
  await page.getByRole("img", { name: "QR code for WhatsApp on the phone" }).waitFor();
  await page.getByText("WZYE-H1YY").waitFor();
}

export async function pauseBatch({ page, url, api }) {
  await page.goto(`${url}/console/occasions`);
  await page.getByRole("link", { name: /Open day/ }).click();
  await page.getByLabel("Guests as CSV").fill("id,name,phone\ng1,Ana,+55 11 90000-0081\ng2,Bia,12");
  await page.getByRole("button", { name: "Add guests" }).click();
  await page.getByText("1 added").waitFor();
  await page.getByText("Line 3:").waitFor();
  const body = { eventId: "open-day", guestIds: ["g1"], channel: "whatsapp", template: "invite" };
  const { batch_id: id } = await api("POST", "/deliver/send", body);
  await page.goto(`${url}/console/batches/${id}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
}

/** A token that is made in the console opens what its role may do. Returns the token. */
export async function createToken({ page, url }) {
  await page.goto(`${url}/console/tokens`);
  const form = page.locator("#token-form");
  await form.getByLabel("Name").fill("dashboard");
  await form.getByLabel("Tenant").selectOption("demo");
  await form.getByRole("button", { name: "Create a token" }).click();
  const secret = await page.locator("#secret").textContent();
  assert.notEqual(secret, TOKEN);
  return secret;
}

/** A viewer sees pages, and nothing that changes something. */
export async function lookAsViewer({ viewer, url, thread }) {
  await viewer.goto(thread);
  assert.equal(await viewer.getByRole("button", { name: "Take over" }).count(), 0);
  assert.equal(await viewer.locator("#answer-form").count(), 0);
  assert.equal(await viewer.locator("#note-form").count(), 0);
  assert.equal(await viewer.getByRole("button", { name: "Remove the label vip" }).count(), 0);
  await viewer.locator("#notes", { hasText: "globalThis.hacked" }).waitFor();
  assert.equal(await viewer.getByRole("link", { name: "Tokens" }).count(), 0);
  await viewer.goto(`${url}/console/agents/ana`);
  assert.equal(await viewer.locator("#agent-form").count(), 0);
  await viewer.goto(`${url}/console/endpoints/erp`);
  await viewer.getByRole("heading", { name: /erp/ }).waitFor();
  assert.equal(await viewer.locator("form[action^='/console/api']").count(), 0);
}
