// Drives the console in a browser, as people do, and looks at each main page: no error, nothing that WCAG forbids, and a
// picture in light, dark and at the width of a phone. `RECADO_BINARY` and `CHROMIUM` name other programs than the usual.
import assert from "node:assert/strict";
import { findViolations, openPage, startBrowser, takePicture } from "./browser.mjs";
import { TOKEN, startEvolution, startRecado } from "./server.mjs";
import * as stories from "./stories.mjs";
import * as troubles from "./troubles.mjs";
import { manageEndpoints, receiveEvents } from "./webhooks.mjs";

const PAGES = {
  overview: "", conversations: "/conversations", "dead-letters": "/dead-letters", instances: "/instances",
  instance: "/instances/suporte-01", pairing: "/instances/caixa", webhook: "/instances/suporte-01/webhook", agents: "/agents",
  agent: "/agents/ana", tools: "/tools", tool: "/tools/opening_slots", calendars: "/calendars", calendar: "/calendars/agenda",
  appointments: "/appointments", search: "/conversations?text=saturday", endpoints: "/endpoints", endpoint: "/endpoints/erp",
  contact: "/conversations?contact=maria",
  occasions: "/occasions", occasion: "/occasions/open-day?tenant=demo", batches: "/batches?tenant=demo", usage: "/usage",
  alerts: "/alerts", tokens: "/tokens", audit: "/audit", settings: "/settings", tenant: "/settings/tenants/demo",
  "opt-outs": "/settings/opt-outs?tenant=demo", contacts: "/settings/contacts", trace: "/trace", simulator: "/simulator",
};

async function lookAtPages(page, url, thread) {
  const shown = { ...PAGES, thread: thread.slice(`${url}/console`.length), message: await findMessage(page, thread) };
  const violations = [];
  for (const [name, path] of Object.entries(shown)) {
    await page.setViewportSize({ width: 1280, height: 900 });
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`${url}/console${path}`);
      assert.equal(await page.locator("h1").count(), 1, `${name} has one main heading`);
      violations.push(...(await findViolations(page)).map((one) => `${scheme} ${one}`));
      await takePicture(page, `${name}-${scheme}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${url}/console${path}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) violations.push(`${name} is ${wide} pixels wider than a phone`);
    await takePicture(page, `${name}-phone`);
  }
  assert.deepEqual(violations, []);
}

async function findMessage(page, thread) {
  await page.goto(thread);
  const address = await page.locator(".bubble.assistant .meta a").first().getAttribute("href");
  return address.slice("/console".length);
}

/** The first page is small and quick. */
async function measureFirstPage(browser, url, problems) {
  const page = await openPage(browser, url, TOKEN, problems);
  const times = [];
  for (let round = 0; round < 5; round += 1) {
    await page.goto(`${url}/console`);
    times.push(await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd));
  }
  const fresh = await browser.newContext();
  const sizes = [];
  const first = await fresh.newPage();
  first.on("response", async (answer) => sizes.push((await answer.body().catch(() => [])).length));
  await first.goto(`${url}/console/sign-in`, { waitUntil: "networkidle" });
  const bytes = sizes.reduce((sum, size) => sum + size, 0) + (await page.content()).length;
  const median = times.sort((a, b) => a - b)[2];
  console.log(`first page: ${Math.round(median)} ms, ${Math.round(bytes / 1000)} KB`);
  assert.ok(median < 300, `the first page took ${median} ms`);
  assert.ok(bytes < 200_000, `the first page has ${bytes} bytes`);
  await fresh.close();
  await page.context().close();
}

const evolution = await startEvolution();
const recado = await startRecado(evolution);
const browser = await startBrowser();
const { url, api } = recado;
const problems = [];
try {
  const page = await openPage(browser, url, TOKEN, problems);
  const other = await openPage(browser, url, TOKEN, problems);
  // Complaints that a story provokes: the browser tells of each refused request.
  const expected = [];
  const world = { page, other, url, api, expected };
  const tell = async (name, story) => {
    const began = Date.now();
    const result = await story(world);
    console.log(`${name}: ${Date.now() - began} ms`);
    return result;
  };
  const thread = await tell("a conversation, live", stories.followConversation);
  await tell("hostile texts", stories.showHostileTexts);
  world.thread = thread;
  await tell("notes and labels", stories.writeBeside);
  await tell("a label that is none", stories.refuseLabel);
  await tell("words of messages", stories.searchTexts);
  await tell("names and numbers of contacts", stories.searchContacts);
  await tell("appointments", stories.listAppointments);
  await tell("keys and new messages", stories.readWithKeys);
  await tell("a dead letter", stories.redriveDeadLetter);
  await tell("knowledge", stories.tryKnowledge);
  await tell("opening hours", stories.editHours);
  await tell("pairing", stories.pairPhone);
  await tell("guests and a batch", stories.pauseBatch);
  await tell("events that are posted", receiveEvents);
  await tell("webhook endpoints", manageEndpoints);
  const token = await tell("a token", stories.createToken);
  const viewer = await openPage(browser, url, token, problems);
  await tell("a viewer", () => stories.lookAsViewer({ viewer, url, thread }));
  world.recado = recado;
  world.openAs = (person, options) => openPage(browser, url, person, [], options);
  await tell("a file that is taken back", troubles.takeFileBack);
  await tell("two receptionists and one that is new", troubles.shareWhatIsNew);
  await tell("a notification of a hidden tab", troubles.notifyHiddenTab);
  await tell("a session that ends with a draft", troubles.loseSession);
  await tell("an answer whose reply is lost", troubles.loseReply);
  await tell("a server that is gone while somebody writes", troubles.loseServer);
  await tell("a phone and a small screen in three languages", troubles.fitScreens);
  await measureFirstPage(browser, url, problems);
  await tell("all pages", () => lookAtPages(page, url, thread));
  const unexpected = problems.filter((problem) => !expected.some((provoked) => provoked.test(problem)));
  assert.deepEqual(unexpected, [], "pages complained");
  console.log("The console works.");
} catch (error) {
  for (const open of browser.contexts().flatMap((context) => context.pages())) {
    console.error(open.url(), await open.locator("#message").innerText().catch(() => ""));
    await takePicture(open, `failed-${Date.now()}`);
  }
  console.error(problems);
  console.error(recado.told().slice(-1500));
  throw error;
} finally {
  await browser.close();
  await recado.close();
  evolution.close();
}
