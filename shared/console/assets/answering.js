// Answering: the draft that no failure takes away, the key by which Recado knows a repeat, the file that goes with an answer, and that
// somebody looked at what waits.
"use strict";

const DRAFT_PREFIX = "draft:";

function findComposer() {
  return document.querySelector("form[data-composer]");
}

// What an answer says: the same key with the same of it is one message.
function describeAnswer(form) {
  const { elements } = form;
  const names = ["content.type", "content.media", "content.source", "content.file_name"];
  return JSON.stringify([form.querySelector("textarea").value, ...names.map((name) => elements[name].value)]);
}

function renewKey(form) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  form.elements._key.value = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The answer that is under way, and the first one whose end nobody knows.
let underWay = null;
let unknownAnswer = null;

// The draft lies in this tab until it was sent, or the person signs out. With it lies the key of an answer whose end nobody knows,
// so that a repeat after a new sign-in is still known as one.
function keepDraft() {
  const form = findComposer();
  if (!form) return;
  const text = form.querySelector("textarea").value;
  const name = DRAFT_PREFIX + location.pathname;
  if (!text && !unknownAnswer) sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, JSON.stringify({ text, unknownAnswer, key: form.elements._key.value }));
}

function restoreDraft() {
  const form = findComposer();
  const kept = form && sessionStorage.getItem(DRAFT_PREFIX + location.pathname);
  if (!kept) return;
  const draft = JSON.parse(kept);
  const field = form.querySelector("textarea");
  field.value = field.value || draft.text;
  unknownAnswer = draft.unknownAnswer;
  if (unknownAnswer) form.elements._key.value = draft.key;
}

function forgetDrafts() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFT_PREFIX)) sessionStorage.removeItem(name);
}

// Takes the file out of what is sent. The field that it was chosen in stays as it is.
function forgetFile(form) {
  for (const name of ["type", "media", "source", "file_name"]) form.elements[`content.${name}`].value = "";
  form.querySelector("[data-caption]").name = "text";
  const chosen = form.querySelector(".chosen");
  if (chosen) chosen.hidden = true;
}

function detachFile(form) {
  forgetFile(form);
  const input = form.querySelector("input[type=file]");
  if (input) input.value = "";
}

function attachFile(form, sent) {
  const kind = { image: "image", audio: "audio", video: "video" }[sent.type.split("/")[0]] || "document";
  form.elements["content.type"].value = "media";
  form.elements["content.media"].value = kind;
  form.elements["content.source"].value = sent.answer.source;
  form.elements["content.file_name"].value = kind === "document" ? sent.file.name : "";
  form.querySelector("[data-caption]").name = "content.caption";
  form.querySelector(".chosen output").textContent = sent.file.name;
  form.querySelector(".chosen").hidden = false;
}

document.addEventListener("input", (event) => { if (event.target.form === findComposer()) keepDraft(); });
document.addEventListener("submit", (event) => {
  if (event.target.matches("form[action='/console/sign-out']")) forgetDrafts();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-detach]");
  if (!button) return;
  detachFile(button.form);
  button.form.querySelector("textarea").focus();
});

// Forms that leave the person where the page is: it is not loaded again, only its live parts are.
document.addEventListener("htmx:configRequest", (event) => {
  const { elt, parameters } = event.detail;
  if (!elt.matches("form[data-stay]")) return;
  delete parameters._then;
  if (elt.matches("form[data-composer]")) {
    underWay = { said: describeAnswer(elt), text: elt.querySelector("textarea").value };
  }
});

document.addEventListener("unanswered", (event) => {
  if (!event.target.matches("form[data-composer]")) return;
  unknownAnswer = unknownAnswer || underWay;
  keepDraft();
});

// A refusal of an answer. Returns true if it is told here: its key was used for another text, which is the first one, so that one was
// sent. The changed text is another message, which the person may still want to send.
function refuseAnswer(form, xhr) {
  if (!form.matches("form[data-composer]")) return false;
  if (xhr.status >= 500) htmx.trigger(form, "unanswered");
  if (!unknownAnswer) return false;
  if (!xhr.responseText.includes('data-refusal="key_reused"') || unknownAnswer.said === underWay?.said) return false;
  say(`${words().firstSent} “${unknownAnswer.text}”. ${words().sendAgain}`, "warn");
  unknownAnswer = null;
  renewKey(form);
  keepDraft();
  return true;
}

// A form that succeeded and leads nowhere is emptied, and live parts are asked for again.
document.addEventListener("saved", (event) => {
  const form = event.target;
  if (form.matches?.("form[data-composer]")) finishAnswer(form);
  else if (form instanceof HTMLFormElement) form.reset();
  refreshAll();
});

function finishAnswer(form) {
  // The first text cannot arrive any more: its key is that of this one.
  if (unknownAnswer && unknownAnswer.said !== underWay?.said) say(words().firstLost);
  const field = form.querySelector("textarea");
  const sent = underWay?.text || "";
  // What was typed meanwhile stays.
  if (field.value.startsWith(sent)) field.value = field.value.slice(sent.length).trimStart();
  [unknownAnswer, underWay] = [null, null];
  detachFile(form);
  renewKey(form);
  keepDraft();
  field.focus();
}

// What waits for a person is new until somebody who may answer looks at it. A hidden tab looks at nothing.
let seenLast = "";
async function tellSeen() {
  const open = document.querySelector("[data-unseen]");
  if (!open || document.hidden) return;
  const seen = `${open.dataset.unseen} ${open.dataset.seen}`;
  if (seen === seenLast) return;
  seenLast = seen;
  const answer = await fetch(`/console/api${open.dataset.unseen}`, {
    method: "PATCH",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ seen: Number(open.dataset.seen) }),
  }).catch(() => null);
  if (!answer?.ok) seenLast = "";
  countNewLater();
}

document.addEventListener("visibilitychange", tellSeen);
document.addEventListener("htmx:afterSettle", tellSeen);
addEventListener("DOMContentLoaded", () => {
  restoreDraft();
  tellSeen();
});
