// Filter of the description of the API: operations whose text has every word stay.
(() => {
  const form = document.querySelector("form");
  const field = form.querySelector("input");
  // Not what is folded away: fields of one name are everywhere.
  const shown = (element) => [...element.children]
    .filter((child) => child.tagName !== "DETAILS").map((child) => child.textContent).join(" ");
  const operations = [...document.querySelectorAll(".operation")].map((element) => ({
    element,
    link: document.querySelector(`nav a[href="#${element.id}"]`),
    words: (element.id + " " + shown(element)).toLowerCase(),
  }));
  const groups = [...document.querySelectorAll(".group")];
  const folds = [...document.querySelectorAll(".contents details")];
  const types = document.querySelector(".types");
  form.hidden = false;

  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { element, link, words: text } of operations) {
      element.hidden = !words.every((word) => text.includes(word));
      link.hidden = element.hidden;
    }
    for (const group of groups) {
      group.hidden = !group.querySelector(".operation:not([hidden])");
    }
    for (const fold of folds) {
      fold.hidden = !fold.querySelector("a:not([hidden])");
      if (words.length > 0) fold.open = true;
    }
    types.hidden = words.length > 0;
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
    if (event.key === "/" && document.activeElement !== field) { field.focus(); event.preventDefault(); }
  });
  window.addEventListener("hashchange", reveal);
  reveal();
})();
