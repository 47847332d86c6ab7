// Search of the book: every word must be found; headings count more than text.
(() => {
  const form = document.querySelector("form");
  const field = form.querySelector("input");
  const list = form.querySelector("ol");
  const entries = (window.BOOK || []).map(([title, heading, url, text]) => ({
    title, heading, url, text,
    names: (title + " " + heading).toLowerCase(),
    words: text.toLowerCase(),
  }));
  let chosen = -1;
  form.hidden = false;
  if (window.innerWidth < 800) document.querySelector("nav details").open = false;

  const score = (entry, words) => {
    let sum = 0;
    for (const word of words) {
      const inNames = entry.names.indexOf(word);
      const inText = entry.words.indexOf(word);
      if (inNames < 0 && inText < 0) return 0;
      if (inNames >= 0) sum += inNames === 0 || entry.names[inNames - 1] === " " ? 12 : 6;
      if (inText >= 0) sum += Math.min(entry.words.split(word).length - 1, 4);
    }
    return sum;
  };

  const excerpt = (entry, word) => {
    const at = Math.max(entry.words.indexOf(word) - 40, 0);
    return (at > 0 ? "…" : "") + entry.text.slice(at, at + 120);
  };

  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    chosen = -1;
    list.hidden = words.length === 0;
    const found = entries
      .map((entry) => [score(entry, words), entry])
      .filter(([points]) => points > 0)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 12);
    for (const [, entry] of found) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const small = document.createElement("small");
      link.href = entry.url;
      link.textContent = entry.heading && entry.heading !== entry.title
        ? entry.title + " › " + entry.heading : entry.title;
      small.textContent = excerpt(entry, words[0]);
      link.append(small);
      item.append(link);
      list.append(item);
    }
    if (found.length === 0) {
      const item = document.createElement("li");
      const text = document.createElement("p");
      text.textContent = "Nothing found.";
      item.append(text);
      list.append(item);
    }
  };

  const choose = (step) => {
    const items = [...list.querySelectorAll("li")].filter((item) => item.querySelector("a"));
    if (items.length === 0) return;
    items[chosen]?.classList.remove("chosen");
    chosen = (chosen + step + items.length) % items.length;
    items[chosen].classList.add("chosen");
    items[chosen].scrollIntoView({ block: "nearest" });
  };

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { choose(1); event.preventDefault(); }
    if (event.key === "ArrowUp") { choose(-1); event.preventDefault(); }
    if (event.key === "Escape") { field.value = ""; show(); field.blur(); }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const link = list.querySelectorAll("a")[Math.max(chosen, 0)];
    if (link) { location.href = link.href; list.hidden = true; }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { field.focus(); event.preventDefault(); }
  });
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) list.hidden = true;
  });
})();
