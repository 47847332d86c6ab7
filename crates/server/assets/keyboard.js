// The keyboard, the palette, and what makes lists quicker to use. Everything can be done without it.
"use strict";

(() => {
  const COMPLETIONS_MAX = 12; // what fits under the box
  const root = new URL("..", document.currentScript.src).pathname; // the dashboard may be below a path
  document.documentElement.classList.add("scripted"); // shows what needs a script

  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  const isTyping = (element) => element && (element.isContentEditable || element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select"));
  const isShown = (element) => element.getClientRects().length > 0;

  // Ids are copied by a button beside them.

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without HTTPS a browser has no clipboard for scripts, but still this way.
      const field = make("textarea", { value: text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await copy(button.dataset.copy);
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1200);
  });

  // The bar under a list says how many are selected.

  const selectedBoxes = () => document.querySelectorAll("input[name=id]:checked");

  function showSelection() {
    const bar = document.querySelector("[data-selection]");
    const output = bar && bar.querySelector("output.selected");
    if (!output) return;
    const count = selectedBoxes().length;
    if (output.value !== String(count)) output.value = count;
    bar.classList.toggle("has-selection", count > 0);
  }

  document.addEventListener("change", (event) => {
    const boxes = event.target.matches("input[name=id], input[data-all]");
    const selected = document.querySelector("[data-selection] input[value=selected]");
    if (boxes && selected && selectedBoxes().length > 0) selected.checked = true;
    showSelection();
  });

  // A live update brings new elements.
  new MutationObserver(showSelection).observe(document.body, { childList: true, subtree: true });
  showSelection();

  // The search box completes its last word.

  function completeWords(input) {
    const list = document.getElementById(input.getAttribute("list"));
    const words = [...list.options].map((option) => option.value);
    input.removeAttribute("list"); // the browser's own completes only the whole line
    const box = make("ul", { id: "completions", className: "completions", hidden: true });
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", "Completions");
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", "completions");
    input.setAttribute("aria-expanded", "false");
    input.after(box);
    let chosen = -1;

    const lastWord = () => input.value.slice(0, input.selectionStart).match(/("[^"]*|\S*)$/)[0];

    function close() {
      box.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
      chosen = -1;
    }

    function take(word) {
      const end = input.selectionStart;
      const start = end - lastWord().length;
      input.value = input.value.slice(0, start) + word + " " + input.value.slice(end).trimStart();
      input.setSelectionRange(start + word.length + 1, start + word.length + 1);
      close();
      input.focus();
    }

    function choose(index) {
      const items = [...box.children];
      chosen = (index + items.length) % items.length;
      items.forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
      items[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", items[chosen].id);
    }

    function suggest() {
      const part = lastWord().replace(/^"/, "").toLowerCase();
      if (!part) return close();
      const value = (word) => word.slice(word.indexOf(":") + 1).toLowerCase();
      const starts = words.filter((word) => word.toLowerCase().startsWith(part) || value(word).startsWith(part));
      const holds = words.filter((word) => !starts.includes(word) && value(word).includes(part));
      const found = [...starts, ...holds].filter((word) => word.toLowerCase() !== part).slice(0, COMPLETIONS_MAX);
      if (found.length === 0) return close();
      box.replaceChildren(...found.map((word, index) => {
        const item = make("li", { id: "completion-" + index, textContent: word });
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", "false");
        item.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
        return item;
      }));
      chosen = -1;
      box.hidden = false;
      input.setAttribute("aria-expanded", "true");
    }

    input.addEventListener("input", suggest);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" && box.hidden) suggest();
      if (box.hidden) return;
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen - 1);
      else if ((event.key === "Enter" && chosen >= 0) || event.key === "Tab") take(box.children[Math.max(chosen, 0)].textContent);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  const search = document.querySelector("input[data-search]");
  if (search) completeWords(search);

  // Views are addresses with names, kept by this browser.

  const VIEWS = "steadfast.views";

  function readViews() {
    try {
      const views = JSON.parse(localStorage.getItem(VIEWS)) || [];
      return views.filter((view) => typeof view.name === "string" && /^\/(?![/\\])/.test(view.address));
    } catch {
      return [];
    }
  }

  function writeViews(views) {
    try {
      localStorage.setItem(VIEWS, JSON.stringify(views));
    } catch {
      // A browser that keeps nothing has no views.
    }
    showViews();
  }

  function viewAddress() {
    const query = new URLSearchParams(location.search);
    for (const name of ["after", "did", "n"]) query.delete(name);
    return location.pathname + (query.size > 0 ? "?" + query : "");
  }

  function showViews() {
    const place = document.querySelector("[data-views]");
    if (!place) return;
    const views = readViews();
    const own = views.filter((view) => view.address.split("?")[0] === location.pathname);
    const here = viewAddress();
    place.replaceChildren(...own.map((view) => {
      const link = make("a", { href: view.address, textContent: view.name });
      if (view.address === here) link.setAttribute("aria-current", "true");
      const remove = make("button", { type: "button", textContent: "×", title: "Delete this view" });
      remove.setAttribute("aria-label", "Delete the view " + view.name);
      remove.addEventListener("click", () => writeViews(readViews().filter((it) => it.address !== view.address || it.name !== view.name)));
      return make("span", { className: "view" }, link, remove);
    }));
    if (here.includes("?") && !own.some((view) => view.address === here)) {
      const save = make("button", { type: "button", className: "save-view", textContent: "Save this view" });
      save.addEventListener("click", () => {
        const name = make("input", { placeholder: "Name of the view", maxLength: 60, required: true });
        name.setAttribute("aria-label", "Name of the view");
        const form = make("form", { className: "view" }, name, make("button", { textContent: "Save" }));
        form.addEventListener("submit", (event) => {
          event.preventDefault();
          writeViews([...readViews(), { name: name.value.trim() || here, address: here }]);
        });
        save.replaceWith(form);
        name.focus();
      });
      place.append(save);
    }
    place.hidden = place.children.length === 0;
  }
  showViews();

  // A form shows what it means while a person types.

  for (const form of document.querySelectorAll("form[data-preview]")) {
    const place = document.getElementById(form.dataset.preview);
    let latest = 0;
    let delay = null;
    const preview = async () => {
      const mine = ++latest;
      const body = new URLSearchParams(new FormData(form));
      body.set("action", "preview");
      try {
        const response = await fetch(form.getAttribute("action"), { method: "POST", body, credentials: "same-origin", redirect: "error" });
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        if (mine !== latest) return; // a later request replaces this one
        const fresh = page.getElementById(place.id);
        const error = page.querySelector(".error");
        place.replaceChildren(...(error ? [make("p", { className: "note", textContent: error.textContent })] : document.adoptNode(fresh).childNodes));
      } catch {
        // The button of the form still works.
      }
    };
    form.addEventListener("input", () => {
      clearTimeout(delay);
      delay = setTimeout(preview, 300);
    });
  }

  // Dialogs.

  function openDialog(className, ...children) {
    const dialog = make("dialog", { className }, ...children);
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
  }

  const KEYS = [
    ["/", "search"],
    ["j / k", "next or previous row"],
    ["Enter", "open the row"],
    ["x", "select the row"],
    ["n", "create"],
    ["Ctrl K", "all commands"],
    ["?", "this help"],
    ["Esc", "close"],
  ];

  function showHelp() {
    const go = sections().filter((it) => it.key).map((it) => ["g " + it.key, it.name]);
    const rows = [...KEYS, ...go].flatMap(([keys, what]) => [make("dt", {}, make("kbd", { textContent: keys })), make("dd", { textContent: what })]);
    const close = make("button", { type: "button", textContent: "Close" });
    const dialog = openDialog("help", make("h2", { textContent: "Keyboard" }), make("dl", {}, ...rows), close);
    close.addEventListener("click", () => dialog.close());
  }

  // Sections, by their address below the root: the second key of `g`.
  const SECTION_KEYS = {
    "/": "o", "/jobs": "j", "/schedules": "s", "/dead-letters": "d", "/failures": "f", "/operations": "p",
    "/queues": "q", "/gates": "g", "/destinations": "t", "/nodes": "w", "/alerts": "a",
    "/endpoints": "e", "/keys": "k", "/audit": "u", "/simulator": "m", "/batches": "b",
  };

  function sections() {
    const links = [...document.querySelectorAll("header nav a[href], nav[aria-label=Sections] a[href]")];
    const seen = new Set();
    const names = links.map((link) => ({
      name: (link.dataset.name || link.firstChild?.textContent || link.textContent).trim(),
      address: link.getAttribute("href"),
      key: SECTION_KEYS["/" + new URL(link.href).pathname.slice(root.length)] || "",
    }));
    return names.filter((it) => it.name && !seen.has(it.address) && seen.add(it.address));
  }

  function commands() {
    const go = sections().map((it) => ({ name: it.name, hint: it.key && "g " + it.key, run: () => location.assign(it.address) }));
    const views = readViews().map((view) => ({ name: "View: " + view.name, hint: "", run: () => location.assign(view.address) }));
    const buttons = [...document.querySelectorAll(".heading button, .heading a.button")].filter(isShown);
    const here = buttons.map((button) => ({ name: button.textContent.trim(), hint: "on this page", run: () => button.click() }));
    const link = (name, path) => ({ name, hint: "", run: () => location.assign(root + path) });
    const create = [link("New job", "jobs/new"), link("New schedule", "schedules/new")];
    return [...here, ...go, ...views, ...create.filter((it) => !here.some((other) => other.name === it.name)),
      { name: "Keyboard help", hint: "?", run: showHelp }];
  }

  function openPalette() {
    if (document.querySelector("dialog[open]")) return;
    const all = commands();
    const input = make("input", { type: "text", placeholder: "A section, an action, an id, or words to search jobs for", autocomplete: "off" });
    input.setAttribute("aria-label", "Command");
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-expanded", "true");
    input.setAttribute("aria-controls", "commands-found");
    const list = make("ul", { id: "commands-found" });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Commands");
    const dialog = openDialog("palette", input, list);
    let found = [];
    let chosen = 0;

    function run(command) {
      dialog.close();
      command.run();
    }

    function choose(index) {
      chosen = (index + found.length) % found.length;
      [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
      list.children[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", list.children[chosen].id);
    }

    function show() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      found = all.filter((command) => words.every((word) => command.name.toLowerCase().includes(word)));
      // Those that begin with it come first.
      const rank = (command) => (words.length > 0 && command.name.toLowerCase().startsWith(words[0]) ? 0 : 1);
      found.sort((one, other) => rank(one) - rank(other));
      if (words.length > 0) {
        const line = input.value.trim();
        found.push({ name: "Search jobs for " + line, hint: "", run: () => location.assign(root + "jobs?q=" + encodeURIComponent(line)) });
      }
      list.replaceChildren(...found.map((command, index) => {
        const item = make("li", { id: "command-" + index }, make("span", { textContent: command.name }), make("kbd", { textContent: command.hint, hidden: !command.hint }));
        item.setAttribute("role", "option");
        item.addEventListener("click", () => run(command));
        return item;
      }));
      choose(0);
    }

    input.addEventListener("input", show);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen - 1);
      else if (event.key === "Enter") run(found[chosen]);
      else return;
      event.preventDefault();
    });
    show();
    input.focus();
  }

  // Keys. The row is the one whose link has the focus, which a live update keeps.

  const rows = () => [...document.querySelectorAll("a[data-row], #rows tbody tr > td:first-child a[href]")].filter(isShown);

  function moveRow(by) {
    const all = rows();
    if (all.length === 0) return;
    const row = document.activeElement && document.activeElement.closest("tr");
    const at = all.findIndex((link) => link === document.activeElement || (row && row.contains(link)));
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  }

  function selectRow() {
    const row = document.activeElement && document.activeElement.closest("tr");
    const box = row && row.querySelector("input[name=id]");
    if (box) box.click();
  }

  let goesTo = 0; // until when the key after `g` counts

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return openPalette();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTyping(document.activeElement)) {
      if (event.key === "Escape") document.activeElement.blur();
      return;
    }
    if (Date.now() < goesTo) {
      goesTo = 0;
      const section = sections().find((it) => it.key === event.key);
      if (section) location.assign(section.address);
      return;
    }
    const create = document.querySelector("a[data-key=n]");
    if (event.key === "/" && search) { search.focus(); search.select(); }
    else if (event.key === "/") openPalette();
    else if (event.key === "j") moveRow(1);
    else if (event.key === "k") moveRow(-1);
    else if (event.key === "x") selectRow();
    else if (event.key === "n" && create) location.assign(create.href);
    else if (event.key === "g") { goesTo = Date.now() + 1500; return; }
    else if (event.key === "?") showHelp();
    else return;
    event.preventDefault();
  });
})();
