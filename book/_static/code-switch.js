// "Code: on" / "Code: off": one switch above each page, remembered. Off, the page is an article: cells keep what they
// show, and their source, folded or not, is gone. Without this script all code is there.
(() => {
  const key = "icr-code", root = document.documentElement;
  let stored = null;
  try { stored = localStorage.getItem(key); } catch { /* a browser that keeps nothing: on, for this page */ }
  root.dataset.code = stored === "off" ? "off" : "on";

  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector(".article-header-buttons");
    if (!place || !document.querySelector(".bd-article div.cell_input")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-sm code-switch";
    const show = () => {
      const on = root.dataset.code === "on";
      button.textContent = `Code: ${on ? "on" : "off"}`;
      button.setAttribute("aria-pressed", String(on));
      button.title = on ? "Hide the code of all cells" : "Show the code of all cells";
    };
    button.addEventListener("click", () => {
      root.dataset.code = root.dataset.code === "on" ? "off" : "on";
      try { localStorage.setItem(key, root.dataset.code); } catch { /* as above */ }
      show();
    });
    show();
    place.prepend(button);
  });
})();
