// What scrolls can be scrolled with the keyboard, and each landmark has a name of its own.
function name() {
  const labels = { ".sidebar-drawer": "Site", ".toc-drawer": "This page" };
  for (const [selector, label] of Object.entries(labels)) {
    document.querySelector(selector)?.setAttribute("aria-label", label);
  }
}

function focus() {
  for (const element of document.querySelectorAll("pre, .table-wrapper")) {
    if (element.scrollWidth > element.clientWidth) {
      element.tabIndex = 0;
    } else {
      element.removeAttribute("tabindex");
    }
  }
}

window.addEventListener("DOMContentLoaded", name);
window.addEventListener("load", focus);
window.addEventListener("resize", focus);
