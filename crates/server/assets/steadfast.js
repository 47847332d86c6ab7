// Keeps an open page up to date. Everything works without it; this only saves reloads.
"use strict";

(() => {
  const REFRESH_MIN_MS = 1000; // a busy node changes more often than anybody can read
  const REFRESH_MAX_MS = 5000; // other nodes' jobs make no event here
  const onlyJob = document.body.dataset.job;
  const sign = document.getElementById("live-sign");
  let fetchedAt = Date.now();
  let timer = null;

  // Times.

  const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

  function rough(seconds) {
    for (const [unit, size] of UNITS) {
      if (seconds >= size) return Math.floor(seconds / size) + unit;
    }
    return "a moment";
  }

  function short(seconds) {
    if (seconds < 60) return seconds.toFixed(1) + "s";
    const parts = [];
    let left = Math.floor(seconds);
    for (const [unit, size] of UNITS) {
      if (left >= size && parts.length < 2) parts.push(Math.floor(left / size) + unit);
      left %= size;
    }
    return parts.join(" ");
  }

  function tick() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const ahead = (Date.parse(time.dateTime) - now) / 1000;
      const said = ahead > 0 ? "in " + rough(ahead) : -ahead < 1 ? "just now" : rough(-ahead) + " ago";
      if (time.textContent !== said) time.textContent = said;
    }
    for (const time of document.querySelectorAll("time[data-countdown]")) {
      const ahead = (Date.parse(time.dateTime) - now) / 1000;
      time.textContent = ahead > 0 ? "in " + short(ahead) : "now";
      if (ahead <= 0) soon();
    }
  }

  // News.

  // What somebody is typing into, or has opened to type into, stays as it is.
  function isInUse(element) {
    const active = document.activeElement;
    const typing = active && active.matches("input:not([type=checkbox]), textarea, select");
    return (typing && element.contains(active)) || element.querySelector("details[open] textarea");
  }

  function take(element, fresh) {
    const ticked = new Set([...element.querySelectorAll("input[type=checkbox]:checked")].map((it) => it.value));
    const open = new Set([...element.querySelectorAll("details[open]")].map((it) => it.id));
    const focus = document.activeElement && element.contains(document.activeElement) ? selector(document.activeElement) : null;
    for (const box of fresh.querySelectorAll("input[type=checkbox]")) box.checked = ticked.has(box.value);
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

  async function fetched(address) {
    const response = await fetch(address, { credentials: "same-origin", redirect: "error" });
    if (!response.ok) throw new Error("status " + response.status);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  }

  async function refresh() {
    timer = null;
    if (document.hidden || !document.querySelector("[data-live]")) return;
    fetchedAt = Date.now();
    try {
      const page = await fetched(location.href);
      for (const element of document.querySelectorAll("[data-live][id]")) {
        const fresh = page.getElementById(element.id);
        if (fresh && !isInUse(element) && fresh.innerHTML !== element.innerHTML) take(element, fresh);
      }
      tick();
    } catch {
      sign.hidden = true; // the node is away; the next try says more
    }
  }

  function soon() {
    if (timer !== null) return;
    const since = Date.now() - fetchedAt;
    timer = setTimeout(refresh, Math.max(REFRESH_MIN_MS - since, 50));
  }

  if (document.querySelector("[data-live]") && window.EventSource) {
    const events = new EventSource("/ui/events");
    events.onopen = () => { if (sign) sign.hidden = false; };
    events.onerror = () => { if (sign) sign.hidden = true; };
    events.onmessage = (event) => {
      if (!onlyJob || JSON.parse(event.data).job === onlyJob) soon();
    };
    document.addEventListener("visibilitychange", () => { if (!document.hidden) soon(); });
    setInterval(() => { if (Date.now() - fetchedAt > REFRESH_MAX_MS) soon(); }, 1000);
  }
  setInterval(tick, 200);

  // A box that ticks all others.

  document.addEventListener("change", (event) => {
    if (!event.target.matches("input[data-all]")) return;
    for (const box of document.querySelectorAll("input[name=id]")) box.checked = event.target.checked;
  });

  // The simulator answers while one types.

  const simulator = document.querySelector("form[data-simulator]");
  if (simulator) {
    let asked = 0;
    let waiting = null;
    const ask = async () => {
      const mine = ++asked;
      const address = "/simulator?" + new URLSearchParams(new FormData(simulator));
      try {
        const page = await fetched(address);
        if (mine !== asked) return; // a later question has been asked
        const fresh = page.getElementById("simulated");
        document.getElementById("simulated").replaceChildren(...document.adoptNode(fresh).childNodes);
        history.replaceState(null, "", address);
      } catch {
        // The button still works.
      }
    };
    simulator.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(ask, 120);
    });
  }

  // A link to a part that is folded opens it.

  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
})();
