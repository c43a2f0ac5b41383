// Notifications of the browser, for whoever asks for them: that somebody waits for a person, while the page is hidden. They hold neither
// a name nor words of a contact, since screens are seen by others.
"use strict";

const NOTIFY_KEY = "notify";
// The conversations that were new at the last look. Before the first look none is told.
let knownNew = null;

function isNotifying() {
  return localStorage.getItem(NOTIFY_KEY) === "yes" && globalThis.Notification?.permission === "granted";
}

function showNotifying(button) {
  button.hidden = false;
  button.textContent = isNotifying() ? "🔔" : "🔕";
  button.setAttribute("aria-pressed", String(isNotifying()));
}

function notifyOfNew(ids) {
  const hasNews = knownNew && ids.some((id) => !knownNew.has(id));
  knownNew = new Set(ids);
  if (!hasNews || !document.hidden || !isNotifying()) return;
  try {
    const shown = new Notification("Recado", { body: document.getElementById("notify").dataset.body, tag: "recado-new" });
    shown.onclick = () => {
      focus();
      location.assign("/console/conversations?waiting=true");
    };
  } catch {
    // Browsers of phones have notifications of installed pages alone.
    localStorage.removeItem(NOTIFY_KEY);
  }
}

addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("notify");
  if (!button || !isSecureContext || !globalThis.Notification || !document.querySelector("#nav .count")) return;
  showNotifying(button);
  button.addEventListener("click", async () => {
    if (isNotifying()) localStorage.removeItem(NOTIFY_KEY);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(NOTIFY_KEY, "yes");
    else say(button.dataset.refused, "warn");
    showNotifying(button);
  });
});
