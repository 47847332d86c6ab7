// Keeps an open page up to date. Everything works without it; this only saves reloads.
"use strict";

(() => {
  const REFRESH_MIN_MS = 1000; // a busy node changes more often than people can read
  const REFRESH_MAX_MS = 5000; // jobs of other nodes send no event here
  const MISSED_MAX = 2; // a page that missed this many refreshes says so
  const REQUEST_MAX_MS = MISSED_MAX * REFRESH_MAX_MS; // a node that hangs does not respond either
  const onlyJob = document.body.dataset.job;
  const root = new URL("..", document.currentScript.src).pathname; // the dashboard may be below a path
  const sign = document.getElementById("live-sign");
  const pause = document.getElementById("live-pause");
  const age = document.getElementById("page-age");
  const newRowsButton = document.getElementById("new-rows");
  let isPaused = sessionStorage.getItem("paused") === "1";
  let fetchedAt = Date.now();
  let answeredAt = Date.now();
  let missed = 0;
  let newRows = { count: 0, atLeast: false }; // not shown, because the rows below them are held in place
  let isFetching = false;
  let isHolding = false;
  let isReleased = false; // by the button of new rows, for one refresh
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

  // The time of this place, which the server does not know, beside UTC.
  document.addEventListener("pointerover", (event) => {
    const time = event.target.closest && event.target.closest("time[title]");
    if (!time || time.title.includes("\n")) return;
    const local = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    time.title += "\n" + local;
  });

  // A search that has found nothing yet goes on by itself, page after page, until a person stops it.

  const SEARCH_PAUSE_MS = 150; // for the rest of the server's work

  function continueSearch() {
    const further = document.querySelector("a[data-continue]");
    if (!further || isPaused) return;
    const stop = document.createElement("button");
    stop.className = "quiet";
    stop.textContent = "Stop";
    const [message, before] = [further.parentElement, further.parentElement.innerHTML];
    message.replaceChildren("No match yet: the search goes on. ", stop);
    const next = setTimeout(() => location.replace(further.href), SEARCH_PAUSE_MS);
    stop.addEventListener("click", () => {
      clearTimeout(next);
      message.innerHTML = before;
    });
  }

  // Refresh.

  // A part that a person types into, or has opened to type into, is not replaced.
  function isInUse(element) {
    const active = document.activeElement;
    const typing = active && active.matches("input:not([type=checkbox]), textarea, select");
    return (typing && element.contains(active)) || element.querySelector("details[open] textarea");
  }

  // Rows that a person points at, works through by keyboard or has ticked do not move.
  const isHeld = () => document.querySelector("main tbody:is(:hover, :focus-within), main tbody input:checked") !== null;

  // Makes a part of the page like `fresh`. What a person has opened stays open, even if the part
  // around it is new.
  function updatePart(part, fresh) {
    const open = [...part.querySelectorAll("details[open][id]")].map((details) => details.id);
    update(part, fresh);
    for (const id of open) {
      let details = document.getElementById(id);
      for (; details; details = details.parentElement.closest("details")) details.open = true;
    }
  }

  // Makes `element` like `fresh`, and leaves alone what is the same in both: what a person has
  // opened, ticked, selected, focused or scrolled stays so.
  function update(element, fresh) {
    if (element.nodeName === "TBODY" && isHolding) {
      updateRows(element, fresh);
      return;
    }
    const named = new Map();
    for (const node of element.childNodes) {
      const name = nameOf(node);
      if (name && !named.has(name)) named.set(name, node);
    }
    let at = element.firstChild;
    for (const node of [...fresh.childNodes]) {
      const name = nameOf(node);
      const isLike = at && !nameOf(at) && at.nodeName === node.nodeName;
      const known = name ? named.get(name) : isLike ? at : null;
      if (!known) {
        element.insertBefore(document.adoptNode(node), at);
        continue;
      }
      named.delete(name);
      if (known === at) at = at.nextSibling;
      else element.insertBefore(known, at);
      if (known.nodeType === Node.ELEMENT_NODE) {
        updateAttributes(known, node);
        update(known, node);
      } else if (known.data !== node.data) {
        known.data = node.data;
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  // Updates the rows in their places. New ones above the first known row are counted only, and
  // those that are no longer on the page are marked: they may have changed since.
  function updateRows(body, fresh) {
    const known = new Map([...body.rows].map((row) => [nameOf(row), row]));
    const rows = [...fresh.rows];
    const first = rows.findIndex((row) => nameOf(row) && known.has(nameOf(row)));
    newRows.count += first < 0 ? rows.length : first;
    newRows.atLeast ||= first < 0 && rows.length > 0;
    for (const row of rows) {
      const name = nameOf(row);
      const old = name && known.get(name);
      known.delete(name);
      if (!old) continue;
      updateAttributes(old, row);
      update(old, row);
    }
    for (const [name, row] of known) row.classList.toggle("gone", name !== "");
  }

  function showNewRows() {
    const { count, atLeast } = newRows;
    newRowsButton.hidden = count === 0;
    const nouns = document.querySelector("main [data-noun]")?.dataset.noun || "row|rows";
    newRowsButton.textContent = count + (atLeast ? " or more newer " : " newer ") + nouns.split("|")[count === 1 ? 0 : 1];
  }

  // What tells an element from those beside it, if something does.
  function nameOf(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    const name = node.id
      || (node.nodeName === "TR" && node.querySelector("a")?.getAttribute("href"))
      || (node.nodeName === "INPUT" && node.name + "=" + node.getAttribute("value"));
    return name ? node.nodeName + " " + name : "";
  }

  function updateAttributes(element, fresh) {
    const isOwn = (name) => name === "open" && element.nodeName === "DETAILS";
    for (const { name } of [...element.attributes]) {
      if (!isOwn(name) && !fresh.hasAttribute(name)) element.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (!isOwn(name) && element.getAttribute(name) !== value) element.setAttribute(name, value);
    }
  }

  async function fetchPage(address) {
    const signal = AbortSignal.timeout(REQUEST_MAX_MS);
    const response = await fetch(address, { credentials: "same-origin", redirect: "manual", signal });
    if (response.type === "opaqueredirect") throw new Error("You are signed out. Reload the page to sign in.");
    if (!response.ok) throw new Error("This node responds with an error (status " + response.status + ").");
    return new DOMParser().parseFromString(await response.text(), "text/html");
  }

  async function refresh() {
    timer = null;
    if (document.hidden || isPaused || isFetching || !document.querySelector("main [data-live]")) return;
    fetchedAt = Date.now();
    isFetching = true;
    try {
      const page = await fetchPage(location.href);
      missed = 0;
      answeredAt = fetchedAt;
      newRows = { count: 0, atLeast: false };
      isHolding = !isReleased && isHeld();
      isReleased = false;
      for (const element of document.querySelectorAll("[data-live][id]")) {
        const fresh = page.getElementById(element.id);
        if (fresh && !isInUse(element) && fresh.innerHTML !== element.innerHTML) updatePart(element, fresh);
      }
      showNewRows();
      showAge("");
      updateTimes();
    } catch (error) {
      // A request that was given up has taken the time of two.
      missed += error.name === "TimeoutError" ? MISSED_MAX : 1;
      if (missed >= MISSED_MAX) showAge(error.name === "Error" ? error.message : "No response from this node.");
    } finally {
      isFetching = false;
    }
  }

  // A page that is not kept up to date says how old it is, and its answers fade.
  function showAge(problem) {
    if (problem === "" && document.body.classList.contains("stale")) sign.hidden = false;
    document.body.classList.toggle("stale", problem !== "");
    if (problem !== "") sign.hidden = true;
    age.hidden = problem === "" && !isPaused;
    const at = new Date(answeredAt).toISOString().slice(11, 19) + " UTC";
    const text = (problem || "Updates are paused.") + " This page shows " + at;
    if (age.firstChild.data !== text) age.firstChild.data = text;
    updateAge();
  }

  function updateAge() {
    if (!age.hidden) age.lastElementChild.textContent = ", " + oneUnit(Math.max(1, (Date.now() - answeredAt) / 1000)) + " ago.";
  }

  function refreshSoon() {
    if (timer !== null) return;
    const since = Date.now() - fetchedAt;
    timer = setTimeout(refresh, Math.max(REFRESH_MIN_MS - since, 50));
  }

  function showState() {
    sign.classList.toggle("paused", isPaused);
    sign.textContent = isPaused ? "paused" : "live";
    pause.textContent = isPaused ? "Resume updates" : "Pause updates";
    pause.hidden = false;
    showAge("");
  }

  if (sign && document.querySelector("main [data-live]") && window.EventSource) {
    let events = null;
    const listen = () => {
      events = new EventSource(root + "ui/events");
      events.onopen = () => { sign.hidden = false; };
      events.onerror = () => { sign.hidden = true; };
      events.onmessage = (event) => {
        if (!onlyJob || JSON.parse(event.data).job === onlyJob) refreshSoon();
      };
    };
    listen();
    // A browser may keep the page that is left for a way back, and its stream with it; it has six
    // connections to a host, and the seventh page would wait for one.
    window.addEventListener("pagehide", () => events.close());
    window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      sessionStorage.setItem("paused", isPaused ? "1" : "");
      showState();
      refreshSoon();
    });
    showState();
    newRowsButton.addEventListener("click", () => {
      isReleased = true;
      refreshSoon();
    });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) refreshSoon(); });
    setInterval(() => { if (Date.now() - fetchedAt > REFRESH_MAX_MS) refreshSoon(); }, 1000);
  }
  setInterval(updateTimes, 200);
  if (age) setInterval(updateAge, 1000);

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
      const address = root + "simulator?" + new URLSearchParams(new FormData(simulator));
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

  // What another policy would have done, once a person asks.

  document.addEventListener("toggle", async (event) => {
    const link = event.target.open && event.target.querySelector("a[data-replay]");
    if (!link) return;
    link.removeAttribute("data-replay");
    const sentence = document.createElement("div");
    sentence.setAttribute("role", "status");
    sentence.textContent = "Replaying…";
    link.parentElement.before(sentence);
    try {
      const page = await fetchPage(link.href);
      const found = page.getElementById("replay") || page.querySelector("main .error");
      sentence.replaceChildren(...found.childNodes);
    } catch (error) {
      sentence.textContent = error.message;
    }
  }, true);

  // Charts: what a bucket has, at once and for all charts of the page with the same time axis.

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function unmark() {
    for (const near of document.querySelectorAll(".plot .near")) near.classList.remove("near");
    tip.hidden = true;
  }

  document.addEventListener("pointermove", (event) => {
    const hit = event.target.closest && event.target.closest(".plot .hit");
    if (!hit) {
      if (!tip.hidden) unmark();
      return;
    }
    const title = hit.querySelector("title");
    if (title) {
      hit.dataset.text = title.textContent;
      title.remove(); // the browser would show it a second time
    }
    const index = [...hit.parentNode.querySelectorAll(".hit")].indexOf(hit);
    unmark();
    for (const chart of document.querySelectorAll(".plot svg")) {
      const same = chart.querySelectorAll(".hit")[index];
      if (same) same.classList.add("near");
    }
    tip.textContent = hit.dataset.text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(left, 8) + "px";
    tip.style.top = event.clientY + 16 + "px";
  });
  document.addEventListener("pointerleave", unmark);

  continueSearch();

  // A link to a closed part of the page opens it.

  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
})();
