// The description of the API: a filter of the operations, and forms that send a request to this server.
(() => {
  const form = document.querySelector("header form");
  const field = form.querySelector("input");
  // Not what is folded away: fields of one name are everywhere.
  const shown = (element) => [...element.children]
    .filter((child) => child.tagName !== "DETAILS").map((child) => child.textContent).join(" ");
  const items = [
    ...[...document.querySelectorAll(".contents details a")]
      .map((element) => [element, element.textContent + " " + element.title]),
    ...[...document.querySelectorAll(".operation")]
      .map((element) => [element, element.id + " " + shown(element)]),
    ...[...document.querySelectorAll(".group tr")]
      .map((element) => [element, element.id + " " + element.textContent]),
  ].map(([element, text]) => ({ element, text: text.toLowerCase() }));
  const groups = [...document.querySelectorAll(".contents details, .group")];
  form.hidden = false;

  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { element, text } of items) element.hidden = !words.every((word) => text.includes(word));
    for (const group of groups) {
      group.hidden = !group.querySelector("details > a:not([hidden]), tr:not([hidden])");
      if (words.length > 0 && group.tagName === "DETAILS") group.open = true;
    }
  };

  // A link may lead to what is folded away or filtered out.
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) { field.value = ""; filter(); }
    for (let up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    target.scrollIntoView();
  };

  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; filter(); field.blur(); }
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, textarea");
    if (event.key === "/" && !isTyping) { field.focus(); event.preventDefault(); }
  });
  window.addEventListener("hashchange", reveal);
  reveal();

  // The address and the headers of a request: each field says where its value goes.
  const request = (form) => {
    let path = form.dataset.path;
    const query = new URLSearchParams();
    const headers = {};
    for (const input of form.querySelectorAll("input")) {
      const [place, name] = input.name.split(/:(.*)/s);
      if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value && place === "query") query.append(name, input.value);
      else if (input.value && place === "header") headers[name] = input.value;
    }
    const key = document.getElementById("key").value.trim();
    if (key) headers.authorization = `Bearer ${key}`;
    const body = form.elements.body?.value;
    if (body !== undefined) headers["content-type"] = "application/json";
    const search = query.size > 0 ? `?${query}` : "";
    return [`../..${path}${search}`, { method: form.dataset.method, headers, body }];
  };

  const pretty = (text) => {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  };

  const send = async (form) => {
    const button = form.querySelector("button");
    const result = form.querySelector(".result");
    const output = form.querySelector("output");
    button.disabled = true;
    output.textContent = "…";
    const began = performance.now();
    try {
      const [url, options] = request(form);
      const response = await fetch(url, options);
      const text = await response.text();
      const took = Math.round(performance.now() - began);
      output.textContent = `${response.status} ${response.statusText}, ${took} ms`;
      result.firstElementChild.textContent = pretty(text);
      result.hidden = text === "";
    } catch (error) {
      output.textContent = `No response: ${error.message}`;
      result.hidden = true;
    }
    button.disabled = false;
  };

  for (const details of document.querySelectorAll(".try")) {
    details.hidden = false;
    const form = details.querySelector("form");
    form.addEventListener("submit", (event) => { event.preventDefault(); send(form); });
  }
  document.querySelector(".key").hidden = !document.querySelector(".try");
})();
