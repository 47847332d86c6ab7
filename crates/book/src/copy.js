// A button that copies the code beside it; of a console only the commands, without prompts.
(() => {
  const text = (pre) => {
    const commands = [...pre.querySelectorAll("b")].map((command) => command.textContent);
    return pre.matches(".console") ? commands.join("\n") : pre.textContent;
  };
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // Without HTTPS there is no clipboard, except on this machine.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  for (const pre of document.querySelectorAll("main pre")) {
    const frame = document.createElement("div");
    const button = document.createElement("button");
    frame.className = "code";
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await copy(text(pre).trim());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    pre.replaceWith(frame);
    frame.append(pre, button);
  }
})();
