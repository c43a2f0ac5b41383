// What goes wrong while people work in the console: nobody is told what is not so, and nothing that was typed is lost.
import assert from "node:assert/strict";
import { TOKEN } from "./server.mjs";
import { askUntil, writeAsCustomer } from "./stories.mjs";

const PICTURE = { name: "map.png", mimeType: "image/png", buffer: Buffer.from("not looked at before it is sent") };
const BOX = "#answer";
const WIDE_PAGES = [
  "", "/conversations", "/dead-letters", "/instances/suporte-01", "/agents/ana", "/appointments", "/occasions/open-day?tenant=demo", "/usage",
  "/usage?by=model", "/alerts", "/tokens", "/audit", "/settings/opt-outs?tenant=demo", "/endpoints", "/endpoints/erp",
];

/** Makes a token of a receptionist. */
async function makeReceptionist(api, name) {
  const { secret } = await api("POST", "/v1/tokens", { name, role: "operator", tenant: "demo" });
  return secret;
}

/** Lets a contact wait for a person. Returns the conversation. */
async function letWait({ other, url, api }, from, name) {
  await writeAsCustomer(other, url, { from, name, text: "Hello" });
  const find = async () => (await api("GET", "/v1/conversations?limit=200")).items.find((item) => item.contact.name === name);
  const found = await askUntil(find);
  await api("PATCH", `/v1/conversations/${found.id}`, { mode: "manual" });
  await writeAsCustomer(other, url, { from, name, text: "Is somebody there?" });
  return askUntil(async () => {
    const now = await find();
    return now.unseen && now;
  });
}

/** An attached file can be taken back, also when the next one is refused. The composer keeps the focus. */
export async function takeFileBack(world) {
  const { openAs, url } = world;
  const page = await openAs(TOKEN);
  const { id } = await letWait(world, "+55 11 90000-0021", "Rosa");
  await page.goto(`${url}/console/conversations/${id}`);
  const file = page.locator("input[type=file]");
  const chosen = page.locator(".chosen");
  await file.setInputFiles(PICTURE);
  await chosen.waitFor();
  await page.getByRole("button", { name: "Take the file back" }).click();
  await chosen.waitFor({ state: "hidden" });
  await file.setInputFiles(PICTURE);
  await chosen.waitFor();
  await page.route("**/media?*", (route) => route.fulfill({ status: 413, json: { detail: "the file is too large" } }));
  await file.setInputFiles({ ...PICTURE, name: "large.png" });
  await page.locator("#message", { hasText: "the file is too large" }).waitFor();
  await chosen.waitFor({ state: "hidden" });
  await page.locator(BOX).focus();
  for (const text of ["Only words.", "And more words."]) {
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.locator(".bubble.operator", { hasText: text }).waitFor();
    assert.equal(await page.locator(BOX).inputValue(), "");
  }
  assert.equal(await page.locator(".bubble.operator img").count(), 0, "no file went with them");
  assert.equal(await page.locator("#message").innerText(), "", "the refusal of an earlier file is over");
  await page.context().close();
}

/** What one receptionist looks at is new to nobody. A hidden tab looks at nothing, and its title counts. */
export async function shareWhatIsNew(world) {
  const { openAs, url, api } = world;
  const ana = await openAs(await makeReceptionist(api, "ana"));
  const bia = await openAs(await makeReceptionist(api, "bia"));
  await bia.goto(`${url}/console/conversations`);
  const { id } = await letWait(world, "+55 11 90000-0022", "Lia");
  const mark = bia.getByRole("link", { name: /Lia/ }).locator(".new");
  await mark.waitFor();
  const isCounted = () => /^\(\d+\) /.test(document.title);
  await bia.waitForFunction(isCounted);
  await bia.locator("#nav .count").waitFor();

  await ana.addInitScript(() => Object.defineProperty(document, "hidden", { configurable: true, get: () => globalThis.covered ?? true }));
  await ana.goto(`${url}/console/conversations/${id}`);
  await ana.locator(".bubble", { hasText: "Is somebody there?" }).waitFor();
  await ana.waitForFunction(isCounted);
  assert.equal((await api("GET", `/v1/conversations/${id}`)).unseen, true, "a hidden tab looks at nothing");
  await bia.reload();
  await mark.waitFor();
  await ana.evaluate(() => {
    globalThis.covered = false;
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await mark.waitFor({ state: "detached" });
  assert.equal(await bia.getByRole("link", { name: /Lia/ }).count(), 1, "it still waits, and is not new");
  await bia.waitForFunction(() => document.querySelector("#nav .count").hidden && !document.title.startsWith("("));
  await ana.context().close();
  await bia.context().close();
}

/** Whoever asked for it is notified of somebody who waits while the page is hidden, without the name and the words of the contact. */
export async function notifyHiddenTab(world) {
  const { openAs, url } = world;
  const page = await openAs(TOKEN);
  await page.addInitScript(() => {
    globalThis.told = [];
    globalThis.Notification = class {
      static permission = "default";
      static async requestPermission() {
        globalThis.Notification.permission = "granted";
        return "granted";
      }
      constructor(title, options) {
        globalThis.told.push(JSON.stringify({ title, ...options }));
      }
    };
    Object.defineProperty(document, "hidden", { configurable: true, get: () => globalThis.covered ?? false });
  });
  const counted = page.waitForResponse((answer) => answer.url().includes("waiting=true"));
  await page.goto(`${url}/console/conversations`);
  await counted;
  const button = page.getByRole("button", { name: "Notify me when somebody waits" });
  assert.equal(await button.getAttribute("aria-pressed"), "false", "nobody is notified unasked");
  await page.evaluate(() => { globalThis.covered = true; });
  await letWait(world, "+55 11 90000-0027", "Nora");
  await page.waitForFunction(() => document.title.startsWith("("), null, { timeout: 40000 });
  assert.deepEqual(await page.evaluate(() => globalThis.told), []);
  await page.evaluate(() => { globalThis.covered = false; });
  await button.click();
  await page.waitForFunction(() => document.getElementById("notify").ariaPressed === "true");
  await page.evaluate(() => { globalThis.covered = true; });
  await letWait(world, "+55 11 90000-0028", "Olivia");
  await page.waitForFunction(() => globalThis.told.length === 1, null, { timeout: 40000 });
  const [told] = await page.evaluate(() => globalThis.told);
  assert.ok(told.includes("Somebody waits") && !told.includes("Olivia") && !told.includes("there?"), told);
  await page.context().close();
}

/** A token is revoked while its person writes: the page stays and tells it, and the draft is there after the next sign-in. */
export async function loseSession(world) {
  const { openAs, url, api, other } = world;
  const page = await openAs(await makeReceptionist(api, "cora"));
  const { id } = await letWait(world, "+55 11 90000-0023", "Vera");
  const address = `${url}/console/conversations/${id}`;
  await page.goto(address);
  await page.locator(BOX).fill("A draft that took long");
  await api("DELETE", "/v1/tokens/cora?tenant=demo");
  await writeAsCustomer(other, url, { from: "+55 11 90000-0023", name: "Vera", text: "One more" });
  const told = page.locator("#message", { hasText: "You are signed out" });
  await told.waitFor();
  await page.locator(BOX).press("Enter");
  await told.waitFor();
  assert.equal(page.url(), address, "the page stays where it is");
  assert.equal(await page.locator(BOX).inputValue(), "A draft that took long");
  const next = await makeReceptionist(api, "dina");
  await told.getByRole("link", { name: "Sign in" }).click();
  assert.equal(await page.getByText("Saved.").count(), 0, "nothing was saved");
  await page.getByLabel("Token").fill(next);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(address);
  assert.equal(await page.locator(BOX).inputValue(), "A draft that took long");
  await page.locator(BOX).press("Enter");
  await page.locator(".bubble.operator", { hasText: "A draft that took long" }).waitFor();
  await page.reload();
  assert.equal(await page.locator(BOX).inputValue(), "", "what was sent is no draft any more");
  await page.locator(BOX).fill("Of no concern to the next person");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/sign-in/);
  const kept = await page.evaluate(() => JSON.stringify(sessionStorage));
  assert.ok(!kept.includes("next person"), "a sign-out leaves no draft");
  await page.context().close();
}

/** Recado takes an answer, and its reply is lost. The same text is sent once; a changed one is another message, after a word about the first. */
export async function loseReply(world) {
  const { openAs, url, api } = world;
  const page = await openAs(TOKEN);
  const { id } = await letWait(world, "+55 11 90000-0024", "Ines");
  await page.goto(`${url}/console/conversations/${id}`);
  const unknown = page.locator("#message", { hasText: "nobody knows whether this was done" });
  const sent = async () => {
    const { items } = await api("GET", `/v1/conversations/${id}/messages?limit=50`);
    return items.filter((message) => message.role === "operator").map((message) => message.content).reverse();
  };
  const send = async (text, isLost) => {
    await page.unroute("**/messages");
    if (isLost) {
      await page.route("**/messages", async (route) => {
        await route.fetch();
        await route.abort();
      });
    }
    await page.locator(BOX).fill(text);
    await page.locator(BOX).press("Enter");
  };
  await send("Nine o'clock", true);
  await unknown.waitFor();
  await send("Nine o'clock", false);
  await page.waitForFunction((box) => document.querySelector(box).value === "", BOX);
  assert.deepEqual(await sent(), ["Nine o'clock"], "the same answer is sent once");

  await send("At ten", true);
  await unknown.waitFor();
  await send("At eleven", false);
  await page.locator("#message", { hasText: "Your first text was sent after all: “At ten”" }).waitFor();
  assert.equal(await page.locator(BOX).inputValue(), "At eleven");
  assert.deepEqual(await sent(), ["Nine o'clock", "At ten"], "the changed text waits for the person");
  await page.locator(BOX).press("Enter");
  await page.waitForFunction((box) => document.querySelector(box).value === "", BOX);
  assert.deepEqual(await sent(), ["Nine o'clock", "At ten", "At eleven"]);
  await page.context().close();
}

/** The server is gone while somebody writes: the page says so, keeps the text, and goes on by itself. */
export async function loseServer(world) {
  const { openAs, url, api, recado, page: one, other } = world;
  const page = await openAs(TOKEN);
  const { id } = await letWait(world, "+55 11 90000-0025", "Olga");
  await page.goto(`${url}/console/conversations/${id}`);
  await page.locator(".bubble", { hasText: "Is somebody there?" }).waitFor();
  const banner = page.locator("#away");
  await banner.waitFor({ state: "hidden" });
  for (const open of [one, other]) await open.goto("about:blank");
  await recado.stop();
  await banner.waitFor();
  await page.locator(BOX).fill("First thought");
  await page.locator(BOX).press("Enter");
  const unknown = page.locator("#message", { hasText: "nobody knows whether this was done" });
  await unknown.waitFor();
  await page.getByRole("button", { name: "Give back to the agent" }).click();
  await unknown.waitFor();
  assert.equal(await page.locator(BOX).inputValue(), "First thought");
  await page.locator(BOX).fill("Second thought");
  await recado.startAgain();
  await banner.waitFor({ state: "hidden" });
  await page.locator(BOX).press("Enter");
  await page.locator(".bubble.operator", { hasText: "Second thought" }).waitFor();
  await page.locator("#message", { hasText: "Your first text never arrived" }).waitFor();
  const { items } = await api("GET", `/v1/conversations/${id}/messages?limit=50`);
  assert.equal(items.filter((message) => message.role === "operator").length, 1);
  await page.context().close();
}

/** Whether a line that is said within a thread lies over its head. (At the end of a page the head leaves with its thread.) */
function isHeadCovered(page) {
  return page.evaluate(async () => {
    globalThis.say("A line that stays", "bad");
    scrollTo(0, 200);
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    const [line, head] = ["#message", ".head"].map((one) => document.querySelector(one).getBoundingClientRect());
    return line.bottom > head.top && head.bottom > line.top;
  });
}

/** In each language the answer box has the phone's width, no page is wider than it, and no column is cut on a small screen. */
export async function fitScreens(world) {
  const { openAs, url } = world;
  const { id } = await letWait(world, "+55 11 90000-0026", "Dora");
  const faults = [];
  for (const [language, name] of [["en", "English"], ["pt", "Português"], ["es", "Español"]]) {
    const page = await openAs(TOKEN);
    await page.getByRole("button", { name }).click();
    await page.locator(`html[lang=${language}]`).waitFor({ state: "attached" });
    for (const width of [360, 390]) {
      await page.setViewportSize({ width, height: 500 });
      await page.goto(`${url}/console/conversations/${id}`);
      assert.equal(await page.locator("html").getAttribute("lang"), language);
      const box = await page.locator(BOX).evaluate((element) => element.offsetWidth);
      if (box < width - 60) faults.push(`${language}: the answer box has ${box} of ${width} pixels`);
      if (await isHeadCovered(page)) faults.push(`${language}: what is said covers the name at ${width} pixels`);
    }
    for (const path of WIDE_PAGES) {
      await page.setViewportSize({ width: 360, height: 700 });
      await page.goto(`${url}/console${path}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) faults.push(`${language} ${path} is ${wide} pixels wider than a phone`);
      await page.setViewportSize({ width: 1366, height: 768 });
      const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].some((one) => one.scrollWidth > one.clientWidth));
      if (cut) faults.push(`${language} ${path} cuts a column at 1366 pixels`);
      if (await page.locator(".bar").evaluate((bar) => bar.offsetHeight > 60)) faults.push(`${language} ${path} has a menu of two rows`);
    }
    await page.context().close();
  }
  assert.deepEqual(faults, []);
}
