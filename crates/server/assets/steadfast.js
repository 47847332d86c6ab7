// Keeps an open page up to date. Everything works without it; this only saves reloads.
"use strict";

(() => {
  const REFRESH_MIN_MS = 1000; // a busy node changes more often than people can read
  const REFRESH_MAX_MS = 5000; // jobs of other nodes send no event here
  const onlyJob = document.body.dataset.job;
  const sign = document.getElementById("live-sign");
  let fetchedAt = Date.now();
  let timer = null;

  // Times.

  const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

  function oneUnit(seconds) {
    for (const [unit, size] of UNITS) {
      if (seconds >= size) return Math.floor(seconds / size) + unit;
    }
    return "a moment";
  }

  function twoUnits(seconds) {
    if (seconds < 60) return seconds.toFixed(1) + "s";
    const parts = [];
    let left = Math.floor(seconds);
    for (const [unit, size] of UNITS) {
      if (left >= size && parts.length < 2) parts.push(Math.floor(left / size) + unit);
      left %= size;
    }
    return parts.join(" ");
  }

  function updateTimes() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const ahead = (Date.parse(time.dateTime) - now) / 1000;
      const text = ahead > 0 ? "in " + oneUnit(ahead) : -ahead < 1 ? "just now" : oneUnit(-ahead) + " ago";
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of document.querySelectorAll("time[data-countdown]")) {
      const ahead = (Date.parse(time.dateTime) - now) / 1000;
      time.textContent = ahead > 0 ? "in " + twoUnits(ahead) : "now";
      if (ahead <= 0) refreshSoon();
    }
  }

  // Refresh.

  // A part that a person types into, or has opened to type into, is not replaced.
  function isInUse(element) {
    const active = document.activeElement;
    const typing = active && active.matches("input:not([type=checkbox]), textarea, select");
    return (typing && element.contains(active)) || element.querySelector("details[open] textarea");
  }

  function replace(element, fresh) {
    const checked = new Set([...element.querySelectorAll("input[type=checkbox]:checked")].map((it) => it.value));
    const open = new Set([...element.querySelectorAll("details[open]")].map((it) => it.id));
    const focus = document.activeElement && element.contains(document.activeElement) ? selector(document.activeElement) : null;
    for (const box of fresh.querySelectorAll("input[type=checkbox]")) box.checked = checked.has(box.value);
    for (const details of fresh.querySelectorAll("details[id]")) {
      if (open.has(details.id)) details.open = true;
    }
    element.replaceChildren(...document.adoptNode(fresh).childNodes);
    const again = focus && element.querySelector(focus);
    if (again) again.focus({ preventScroll: true });
  }

  function selector(element) {
    if (element.tagName === "A") return "a[href=" + JSON.stringify(element.getAttribute("href")) + "]";
    if (element.tagName === "BUTTON" && element.value) return "button[value=" + JSON.stringify(element.value) + "]";
    if (element.type === "checkbox") return "input[value=" + JSON.stringify(element.value) + "]";
    return element.id ? "#" + CSS.escape(element.id) : null;
  }

  async function fetchPage(address) {
    const response = await fetch(address, { credentials: "same-origin", redirect: "error" });
    if (!response.ok) throw new Error("status " + response.status);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  }

  async function refresh() {
    timer = null;
    if (document.hidden || !document.querySelector("[data-live]")) return;
    fetchedAt = Date.now();
    try {
      const page = await fetchPage(location.href);
      for (const element of document.querySelectorAll("[data-live][id]")) {
        const fresh = page.getElementById(element.id);
        if (fresh && !isInUse(element) && fresh.innerHTML !== element.innerHTML) replace(element, fresh);
      }
      updateTimes();
    } catch {
      sign.hidden = true; // the node does not respond; the next refresh tries again
    }
  }

  function refreshSoon() {
    if (timer !== null) return;
    const since = Date.now() - fetchedAt;
    timer = setTimeout(refresh, Math.max(REFRESH_MIN_MS - since, 50));
  }

  if (document.querySelector("[data-live]") && window.EventSource) {
    const events = new EventSource("/ui/events");
    events.onopen = () => { if (sign) sign.hidden = false; };
    events.onerror = () => { if (sign) sign.hidden = true; };
    events.onmessage = (event) => {
      if (!onlyJob || JSON.parse(event.data).job === onlyJob) refreshSoon();
    };
    document.addEventListener("visibilitychange", () => { if (!document.hidden) refreshSoon(); });
    setInterval(() => { if (Date.now() - fetchedAt > REFRESH_MAX_MS) refreshSoon(); }, 1000);
  }
  setInterval(updateTimes, 200);

  // The checkbox in the table head selects all jobs of the page.

  document.addEventListener("change", (event) => {
    if (!event.target.matches("input[data-all]")) return;
    for (const box of document.querySelectorAll("input[name=id]")) box.checked = event.target.checked;
  });

  // The simulator updates while a person types.

  const simulator = document.querySelector("form[data-simulator]");
  if (simulator) {
    let latest = 0;
    let delay = null;
    const simulate = async () => {
      const mine = ++latest;
      const address = "/simulator?" + new URLSearchParams(new FormData(simulator));
      try {
        const page = await fetchPage(address);
        if (mine !== latest) return; // a later request replaces this one
        const fresh = page.getElementById("simulation");
        document.getElementById("simulation").replaceChildren(...document.adoptNode(fresh).childNodes);
        history.replaceState(null, "", address);
      } catch {
        // The button of the form still works.
      }
    };
    simulator.addEventListener("input", () => {
      clearTimeout(delay);
      // A replay reads many jobs, so it waits until the person has finished typing.
      const data = new FormData(simulator);
      const replays = ["queue", "kind", "destination"].some((name) => data.get(name));
      delay = setTimeout(simulate, replays ? 1000 : 120);
    });
  }

  // A link to a closed part of the page opens it.

  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
})();
