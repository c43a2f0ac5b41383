// What pages of the console do in the browser beside htmx: times in the person's own zone, keys, uploads, the menu and the
// colours. Nothing here runs text that came from a customer.
"use strict";

// Times: `<time datetime data-shown>` in the zone and language of the browser.
function showTimes(root) {
  const language = document.documentElement.lang;
  const short = new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "short" });
  const clock = new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "short", timeZone: "UTC" });
  const day = new Intl.DateTimeFormat(language, { dateStyle: "full", timeZone: "UTC" });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  for (const element of root.querySelectorAll("time[data-shown]")) {
    if (element.dataset.shown === "clock") {
      element.textContent = clock.format(new Date(`${element.dateTime}Z`));
      continue;
    }
    const at = new Date(element.dateTime);
    if (element.dataset.shown === "day") {
      element.textContent = day.format(at);
      continue;
    }
    element.title = at.toLocaleString(language);
    if (element.dataset.shown === "time") {
      element.textContent = short.format(at);
      continue;
    }
    const seconds = Math.round((at - Date.now()) / 1000);
    const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
    element.textContent = relative.format(Math.round(seconds / size), unit);
  }
}

// Keys: Enter sends an answer (with Shift it is a new line); `j` and `k` move through a list; `/` goes to the search.
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (target.matches("textarea[data-send-key]") && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    // An answer is under way, or its file is.
    if (!target.form.querySelector("button:not([type=button])").disabled) target.form.requestSubmit();
    return;
  }
  if (target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...document.querySelectorAll("ul.rows a")];
  const at = rows.indexOf(document.activeElement);
  if (event.key === "j" && rows.length) rows[Math.min(at + 1, rows.length - 1)].focus();
  if (event.key === "k" && rows.length) rows[Math.max(at - 1, 0)].focus();
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.closest("details")?.setAttribute("open", "");
      search.focus();
    }
  }
});

// Files are sent as they are. With `data-upload` the file's source then stands in the form as the message's content; with
// `data-post` the file itself is what the page adds.
async function sendFile(input, query) {
  const file = input.files[0];
  const type = file.type || "application/octet-stream";
  const answer = await fetch(`${input.dataset.upload || input.dataset.post}?${query}=${encodeURIComponent(file.name)}`, {
    method: "POST",
    headers: { "Content-Type": type },
    body: file,
  }).catch(() => null);
  if (answer?.ok) return { type, file, answer: await answer.json() };
  input.value = "";
  if (answer?.status === 401) {
    tellSignedOut();
    return null;
  }
  const problem = await answer?.json().catch(() => null);
  const why = problem?.code === "too_large" ? words().tooLarge : problem?.detail && `${words().ownWords} “${problem.detail}”`;
  say(why ? `${words().failed} ${why}` : words().unknown, "bad");
  return null;
}

document.addEventListener("change", async (event) => {
  const input = event.target;
  if (!input.matches("input[type=file]") || !input.files.length) return;
  if (input.dataset.post) {
    if (await sendFile(input, input.dataset.title)) location.reload();
    return;
  }
  if (!input.dataset.upload) return;
  const form = input.form;
  const button = form.querySelector("button.primary");
  // Of two files the last counts, also if it is refused.
  forgetFile(form);
  button.disabled = true;
  const sent = await sendFile(input, "file_name");
  button.disabled = false;
  if (sent) attachFile(form, sent);
});

// How an answer was made is read when a person asks for it. (htmx forgets triggers of parts that stay over a swap.)
document.addEventListener("toggle", (event) => {
  const part = event.target;
  if (!part.matches("details[data-opens][open]")) return;
  htmx.ajax("GET", part.dataset.opens, { target: part.querySelector(".turn"), select: "#turn", swap: "innerHTML" });
}, true);

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) navigator.clipboard?.writeText(document.getElementById(button.dataset.copy).textContent);
});

// What was saved is said on the page that follows. A field with `data-clears` is empty after it was sent.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { xhr, elt } = event.detail;
  if (xhr.status >= 300) return;
  if (xhr.getResponseHeader("HX-Redirect") || xhr.getResponseHeader("HX-Refresh")) sessionStorage.setItem("saved", "yes");
  if (elt.matches("form")) elt.querySelectorAll("[data-clears]").forEach((field) => { field.value = ""; });
});

// A live part that did not change stays as it is, so that nothing in it loses the focus.
const shownParts = new Map();
let wasAtEnd = true;
function noteEnd() {
  wasAtEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
}
addEventListener("scroll", noteEnd, { passive: true });
document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt, xhr } = event.detail;
  // A thread stays at its end, if it was there.
  noteEnd();
  if (!elt.matches("[data-live]") || xhr.status !== 200) return;
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const part = page.getElementById(elt.id)?.outerHTML;
  if (part && part === shownParts.get(elt.id)) event.detail.shouldSwap = false;
  shownParts.set(elt.id, part);
});
function scrollThread() {
  if (document.querySelector(".thread") && wasAtEnd) scrollTo(0, document.body.scrollHeight);
}
// Pictures make a thread longer once they are there.
document.addEventListener("load", (event) => {
  if (event.target.matches?.(".thread img")) scrollThread();
}, true);
document.addEventListener("htmx:afterSettle", (event) => {
  showTimes(event.target.parentElement || document);
  const seen = document.querySelector("[data-seen]")?.dataset.seen;
  if (seen) document.querySelectorAll("[data-seen-field]").forEach((field) => { field.value = seen; });
  if (event.target.matches("[data-live]")) scrollThread();
});

// What sticks to the top of a page stands below what is said there.
function noteHeights() {
  for (const [id, name] of [["away", "--away"], ["message", "--said"]]) {
    const height = document.getElementById(id)?.offsetHeight || 0;
    document.documentElement.style.setProperty(name, height ? `${height + 8}px` : "0px");
  }
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

addEventListener("DOMContentLoaded", () => {
  const kept = localStorage.getItem("theme");
  if (kept) document.documentElement.dataset.theme = kept;
  showTimes(document);
  const heights = new ResizeObserver(noteHeights);
  document.querySelectorAll("#away, #message").forEach((line) => heights.observe(line));
  const message = document.getElementById("message");
  if (sessionStorage.getItem("saved") && message) say(message.dataset.saved);
  sessionStorage.removeItem("saved");
  if (!location.hash) scrollThread();
  setInterval(() => showTimes(document), 30000);
  document.querySelector("#theme")?.addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    chooseTheme(now === "dark" ? "light" : "dark");
  });
  document.querySelector("button.menu")?.addEventListener("click", (event) => {
    const open = event.target.getAttribute("aria-expanded") !== "true";
    event.target.setAttribute("aria-expanded", String(open));
  });
  // Filters stand open where there is room for them, and where one is chosen.
  const filters = document.querySelector("details.filter-box");
  if (filters && (innerWidth > 736 || location.search)) filters.open = true;
  const further = document.querySelector("details.more");
  document.addEventListener("click", (event) => { if (further && !further.contains(event.target)) further.open = false; });
});
