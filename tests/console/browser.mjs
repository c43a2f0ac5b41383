// The browser: pages that remember what went wrong in them, the check for accessibility, and screenshots.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SHOTS = join(new URL(".", import.meta.url).pathname, "shots");
const NAMES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/snap/bin/chromium"];

/** Starts Chromium: that of `CHROMIUM`, or the machine's own. */
export async function startBrowser() {
  const path = process.env.CHROMIUM || NAMES.find((name) => existsSync(name));
  if (!path) throw new Error("there is no Chromium: install it, or name it in CHROMIUM");
  rmSync(SHOTS, { recursive: true, force: true });
  mkdirSync(SHOTS, { recursive: true });
  return chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
}

/** Opens a page as a person who is signed in with `token`. `problems` gets what the page complains about. */
export async function openPage(browser, url, token, problems, options = {}) {
  const context = await browser.newContext({ locale: "en", viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`${page.url()}: ${message.text()} ${message.location().url}`);
  });
  page.on("dialog", (dialog) => (dialog.type() === "confirm" ? dialog.accept() : problems.push(`a dialog: ${dialog.message()}`)));
  await page.goto(`${url}/console`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${url}/console`);
  return page;
}

/** Names the serious and critical violations of WCAG on the page. */
export async function findViolations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const grave = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  return grave.map((one) => `${page.url()}: ${one.id} (${one.impact}): ${one.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary?.split("\n")[1] ?? ""}`).join("\n    ")}`);
}

/** Takes a picture of the whole page. */
export async function takePicture(page, name) {
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}
