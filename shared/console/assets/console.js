// What pages of the console do in the browser beside htmx: times in the person's own zone, live parts, keys, uploads, the menu
// and the colours. Nothing here runs text that came from a customer.
"use strict";

const POLL_MS = 5000;

// Times: `<time datetime data-shown>` in the zone and language of the browser.
function showTimes(root) {
  const language = document.documentElement.lang;
  const short = new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "short" });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  for (const element of root.querySelectorAll("time[data-shown]")) {
    const at = new Date(element.dateTime);
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

// Live parts: an element with `data-live` is asked for again when an event concerns it. `any`: by every event;
// `conversation`: by those of conversations; `conversation:ID`: by those of one.
function isConcerned(element, event) {
  const [kind, id] = element.dataset.live.split(/:(.*)/);
  if (kind === "any") return true;
  if (kind === "conversation") return Boolean(event.conversation_id) && (!id || id === event.conversation_id);
  return kind === event.kind.split(".")[0];
}

let pending = null;
const concerned = new Set();

function refreshLater(element) {
  concerned.add(element);
  pending = pending || setTimeout(() => {
    pending = null;
    for (const part of concerned) if (part.isConnected) htmx.trigger(part, "live");
    concerned.clear();
  }, 150);
}

function refreshAll() {
  if (document.hidden) return;
  document.querySelectorAll("[data-live]").forEach(refreshLater);
}

function refreshConcerned(event) {
  for (const element of document.querySelectorAll("[data-live]")) if (isConcerned(element, event)) refreshLater(element);
}

function followEvents() {
  const stream = new EventSource("/console/api/v1/events/stream?after=now");
  // What happened between the page and its stream, or while the stream was cut off, is read now.
  stream.onopen = refreshAll;
  stream.addEventListener("change", (message) => {
    refreshConcerned(JSON.parse(message.data));
  });
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) setInterval(refreshAll, POLL_MS);
  };
  addEventListener("pagehide", () => stream.close());
}

// Where a WebSocket tells that there is more, what happened is read from the list, by one request at a time. A page that nobody looks
// at reads nothing. A connection is told for some minutes; the next one has a new ticket. Without one, and each minute, pages ask.
const PUSH_PAGE = 200;
const PUSH_RETRY_MS = 60000;

function followPush() {
  let place = "now";
  let reading = false;
  let more = false;
  let isOpen = false;
  let asked = 0;
  async function readEvents() {
    more = true;
    if (reading || document.hidden) return;
    reading = true;
    while (more && !document.hidden) {
      more = false;
      const answer = await fetch(`/console/api/v1/events?after=${place}&limit=${PUSH_PAGE}`).catch(() => null);
      const page = answer?.ok ? await answer.json() : null;
      if (!page) {
        place = "now";
        refreshAll();
        break;
      }
      // From now on: what was before is on the page, or read with it.
      if (place === "now") refreshAll();
      place = page.next;
      page.items.forEach(refreshConcerned);
      more = more || page.items.length === PUSH_PAGE;
    }
    reading = false;
  }
  async function connect() {
    const answer = await fetch("/console/api/v1/events/tickets", { method: "POST" }).catch(() => null);
    if (!answer?.ok) {
      setTimeout(connect, PUSH_RETRY_MS);
      return;
    }
    const ticket = await answer.json();
    const socket = new WebSocket(ticket.url);
    const close = () => socket.close();
    // What happened before the connection was there is on the page once it was asked for again.
    socket.onopen = () => {
      isOpen = true;
      place = "now";
      setTimeout(close, (ticket.connection_seconds - 60) * 1000);
      readEvents();
    };
    socket.onmessage = readEvents;
    socket.onclose = () => {
      removeEventListener("pagehide", close);
      setTimeout(connect, isOpen ? 1000 : PUSH_RETRY_MS);
      isOpen = false;
    };
    addEventListener("pagehide", close);
  }
  document.addEventListener("visibilitychange", () => { if (more) readEvents(); });
  setInterval(() => {
    asked += 1;
    if (!isOpen || asked % 12 === 0) refreshAll();
  }, POLL_MS);
  connect();
}

// What was read in this browser: the time of the contact's newest message when its conversation was last open here. What came
// before this browser first showed a list counts as read.
const READ_MAX = 500;

function loadRead() {
  try {
    const kept = JSON.parse(localStorage.getItem("read"));
    if (kept?.since && Array.isArray(kept.seen)) return { since: kept.since, seen: new Map(kept.seen) };
  } catch { /* What cannot be read is begun anew. */ }
  return { since: new Date().toISOString(), seen: new Map() };
}

function markUnread() {
  const read = loadRead();
  const open = document.querySelector("[data-read]");
  if (open?.dataset.inbound) {
    read.seen.delete(open.dataset.read);
    read.seen.set(open.dataset.read, open.dataset.inbound);
  }
  const seen = [...read.seen].slice(-READ_MAX);
  localStorage.setItem("read", JSON.stringify({ since: read.since, seen }));
  for (const row of document.querySelectorAll("[data-unread]")) {
    const upto = read.seen.get(row.dataset.unread) || read.since;
    const isNew = row.dataset.inbound && new Date(row.dataset.inbound) > new Date(upto);
    const mark = row.querySelector(".new");
    if (mark) mark.hidden = !isNew;
  }
}

// Keys: Enter sends an answer (with Shift it is a new line); `j` and `k` move through a list; `/` goes to the search.
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (target.matches("textarea[data-send-key]") && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    target.form.requestSubmit();
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
  });
  if (answer.ok) return { type, file, answer: await answer.json() };
  const problem = await answer.json().catch(() => ({}));
  say(problem.detail || answer.statusText, "bad");
  input.value = "";
  return null;
}

function say(text, kind) {
  const line = document.createElement("p");
  line.className = `notice ${kind || ""}`;
  line.textContent = text;
  document.getElementById("message").replaceChildren(line);
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
  const button = form.querySelector("button");
  button.disabled = true;
  const sent = await sendFile(input, "file_name");
  button.disabled = false;
  if (!sent) return;
  const kind = { image: "image", audio: "audio", video: "video" }[sent.type.split("/")[0]] || "document";
  form.elements["content.type"].value = "media";
  form.elements["content.media"].value = kind;
  form.elements["content.source"].value = sent.answer.source;
  form.elements["content.file_name"].value = kind === "document" ? sent.file.name : "";
  form.querySelector("[data-caption]").name = "content.caption";
  const chosen = form.querySelector("output.chosen");
  chosen.textContent = sent.file.name;
  chosen.hidden = false;
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

// A form that succeeded and leads nowhere is emptied, and live parts are asked for again.
document.addEventListener("saved", (event) => {
  if (event.target instanceof HTMLFormElement) event.target.reset();
  refreshAll();
});

// What was saved is said on the page that follows. A field with `data-clears` is empty after it was sent.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { xhr, elt } = event.detail;
  if (xhr.getResponseHeader("HX-Redirect") || xhr.getResponseHeader("HX-Refresh")) sessionStorage.setItem("saved", "yes");
  if (xhr.status < 300 && elt.matches("form")) elt.querySelectorAll("[data-clears]").forEach((field) => { field.value = ""; });
});

// A live part that did not change stays as it is, so that nothing in it loses the focus.
const shownParts = new Map();
let wasAtEnd = true;
document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt, xhr } = event.detail;
  // A thread stays at its end, if it was there.
  wasAtEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
  if (!elt.matches("[data-live]") || xhr.status !== 200) return;
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const part = page.getElementById(elt.id)?.outerHTML;
  if (part && part === shownParts.get(elt.id)) event.detail.shouldSwap = false;
  shownParts.set(elt.id, part);
});
function scrollThread() {
  if (document.querySelector(".thread") && wasAtEnd) scrollTo(0, document.body.scrollHeight);
}
document.addEventListener("htmx:afterSettle", (event) => {
  showTimes(event.target.parentElement || document);
  markUnread();
  const seen = document.querySelector("[data-seen]")?.dataset.seen;
  if (seen) document.querySelectorAll("[data-seen-field]").forEach((field) => { field.value = seen; });
  if (event.target.matches("[data-live]")) scrollThread();
});

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

addEventListener("DOMContentLoaded", () => {
  const kept = localStorage.getItem("theme");
  if (kept) document.documentElement.dataset.theme = kept;
  showTimes(document);
  markUnread();
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
  if (!document.querySelector("[data-live]")) return;
  const follow = { stream: followEvents, push: followPush, none: () => setInterval(refreshAll, POLL_MS) };
  follow[document.body.dataset.liveSource]?.();
});
