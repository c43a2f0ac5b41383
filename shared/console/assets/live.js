// How pages learn of news, and the one place in which they say that a request failed: that it was refused, that nobody knows whether
// it was done, that the session has ended, or that news no longer come.
"use strict";

const POLL_MS = 5000;
const SAID_MS = 6000;
// What the stream mends within this time is not told.
const AWAY_MS = 2000;

// The words of the page's language for what the scripts say.
function words() {
  return document.getElementById("message").dataset;
}

// Says a line to the person. A good one goes away by itself.
function say(text, kind, link) {
  const line = document.createElement("p");
  line.className = `notice ${kind || ""}`;
  if (kind) line.setAttribute("role", "alert");
  line.textContent = text;
  if (link) {
    const way = document.createElement("a");
    [way.href, way.textContent] = [link.href, link.text];
    line.append(" ", way);
  }
  document.getElementById("message").replaceChildren(line);
  if (!kind) setTimeout(() => line.remove(), SAID_MS);
}

// The session is over: the page stays, with all that was typed in it.
let isSignedOut = false;

function tellSignedOut() {
  isSignedOut = true;
  const next = encodeURIComponent(location.pathname + location.search);
  say(words().signedOut, "bad", { href: `/console/sign-in?next=${next}`, text: words().signIn });
}

// Goes on if the person signed in meanwhile, as in another tab.
async function askForSession() {
  const answer = await fetch("/console/api/v1/token").catch(() => null);
  if (answer?.status === 401) tellSignedOut();
  if (!answer?.ok || !isSignedOut) return;
  isSignedOut = false;
  document.getElementById("message").replaceChildren();
  refreshAll();
}

// What keeps news away, and since when.
const away = new Set();
let awayTimer = null;

function setAway(what, isAway) {
  if (isAway) away.add(what);
  else away.delete(what);
  const banner = document.getElementById("away");
  if (!away.size) {
    clearTimeout(awayTimer);
    awayTimer = null;
    if (banner) banner.hidden = true;
    return;
  }
  if (!banner || awayTimer) return;
  const since = new Date();
  awayTimer = setTimeout(() => {
    banner.querySelector("time").textContent = since.toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" });
    banner.hidden = false;
  }, AWAY_MS);
}

// Live parts: an element with `data-live` is asked for again when an event concerns it. `any`: by every event;
// `conversation`: by those of conversations; `conversation:ID`: by those of one.
function isConcerned(element, event) {
  const [kind, id] = element.dataset.live.split(/:(.*)/);
  if (kind === "any") return true;
  if (kind === "conversation") return Boolean(event.conversation_id) && (!id || id === event.conversation_id);
  return kind === event.kind.split(".")[0];
}

// Parts are known by their ids, as an answer replaces them. News that comes while a part is read has it read once more.
let pending = null;
const concerned = new Set();
const reading = new Set();
const missed = new Set();

function refreshLater({ id }) {
  concerned.add(id);
  pending = pending || setTimeout(() => {
    pending = null;
    for (const one of concerned) {
      const part = document.getElementById(one);
      if (reading.has(one)) missed.add(one);
      else if (part) htmx.trigger(part, "live");
    }
    concerned.clear();
  }, 150);
}

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, xhr } = event.detail;
  if (!elt.matches("[data-live]")) return;
  const { id } = elt;
  reading.add(id);
  // The answer takes its place right after it came.
  xhr.addEventListener("loadend", () => setTimeout(() => {
    reading.delete(id);
    if (missed.delete(id)) refreshLater({ id });
  }, 50));
});

function refreshAll() {
  if (isSignedOut) return;
  countNewLater();
  if (document.hidden) return;
  document.querySelectorAll("[data-live]").forEach(refreshLater);
}

function refreshConcerned(event) {
  if (event.conversation_id) countNewLater();
  for (const element of document.querySelectorAll("[data-live]")) if (isConcerned(element, event)) refreshLater(element);
}

// How many conversations are new, in the menu and in the title: hidden tabs show it, too. They ask less often.
const COUNT_MS = 3000;
const COUNT_HIDDEN_MS = 15000;
const COUNT_MAX = 100;
let countTimer = null;
let countedAt = 0;
let ownTitle = null;

function countNewLater() {
  if (countTimer || !document.querySelector("#nav .count")) return;
  const apart = document.hidden ? COUNT_HIDDEN_MS : COUNT_MS;
  countTimer = setTimeout(countNew, Math.max(0, countedAt + apart - Date.now()));
}

async function countNew() {
  countTimer = null;
  countedAt = Date.now();
  const answer = await fetch(`/console/api/v1/conversations?waiting=true&limit=${COUNT_MAX}`).catch(() => null);
  if (answer?.status === 401) tellSignedOut();
  if (!answer?.ok) return;
  const page = await answer.json();
  const unseen = page.items.filter((item) => item.unseen);
  const count = unseen.length;
  const shown = count === COUNT_MAX && page.next_cursor ? `${count}+` : `${count}`;
  const mark = document.querySelector("#nav .count");
  mark.hidden = count === 0;
  mark.querySelector("b").textContent = shown;
  ownTitle = ownTitle ?? document.title;
  document.title = count ? `(${shown}) ${ownTitle}` : ownTitle;
  notifyOfNew(unseen.map((item) => item.id));
}

function followEvents() {
  const stream = new EventSource("/console/api/v1/events/stream?after=now");
  // What happened between the page and its stream, or while the stream was cut off, is read now.
  stream.onopen = () => {
    setAway("stream", false);
    refreshAll();
  };
  stream.addEventListener("change", (message) => {
    refreshConcerned(JSON.parse(message.data));
  });
  const close = () => stream.close();
  addEventListener("pagehide", close);
  stream.onerror = () => {
    setAway("stream", true);
    // The browser tries again by itself, unless it got an answer that is no stream.
    if (stream.readyState !== EventSource.CLOSED) return;
    removeEventListener("pagehide", close);
    if (!isSignedOut) askForSession();
    setTimeout(followAgain, POLL_MS);
  };
}

function followAgain() {
  if (isSignedOut) {
    setTimeout(followAgain, POLL_MS);
    return;
  }
  refreshAll();
  followEvents();
}

// Where a WebSocket tells that there is more, what happened is read from the list, by one request at a time. A page that nobody looks
// at reads nothing but how many are new. A connection is told for some minutes; the next one has a new ticket. Without one, and each
// minute, pages ask.
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
    countNewLater();
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

// Requests that got no answer.
function tellUnanswered(event) {
  const { elt } = event.detail.requestConfig || event.detail;
  if (elt.matches("[data-live]")) {
    setAway("pages", true);
    return;
  }
  say(words().unknown, "bad");
  htmx.trigger(elt, "unanswered");
}
for (const kind of ["htmx:sendError", "htmx:timeout", "htmx:sendAbort"]) document.addEventListener(kind, tellUnanswered);

// What an earlier request said is over once the person makes another.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!event.detail.elt.matches("[data-live]")) document.getElementById("message").replaceChildren();
});

// Answers that are no success. Recado's own say in words why; those of a proxy in front of it say nothing that a page can show.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  const { elt } = requestConfig;
  if (xhr.status < 400) {
    if (elt.matches("[data-live]")) setAway("pages", false);
    return;
  }
  const isOwn = xhr.responseText.includes("data-refusal");
  if (xhr.status === 401) tellSignedOut();
  else if (elt.matches("[data-live]")) setAway("pages", true);
  else if (isOwn && !refuseAnswer(elt, xhr)) return;
  else if (!isOwn) tellUnanswered(event);
  event.detail.shouldSwap = false;
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  if (isSignedOut) askForSession();
  countNewLater();
});

addEventListener("DOMContentLoaded", () => {
  if (!document.body.dataset.liveSource) return;
  const follow = { stream: followEvents, push: followPush, none: () => setInterval(refreshAll, POLL_MS) };
  const hasLive = document.querySelector("[data-live]");
  if (hasLive) follow[document.body.dataset.liveSource]?.();
  // Each stream is a connection, of which a browser has few: a page without a live part only counts.
  else setInterval(countNewLater, COUNT_HIDDEN_MS);
  countNewLater();
});
