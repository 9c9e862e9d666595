// What htmx does not do. Every form works without this file.
"use strict";

// htmx keeps the path of the page when it is loaded, whatever it is told. Nothing of ours stays in a browser.
sessionStorage.removeItem("htmx-current-path-for-history");

// After a refused form the focus goes to the summary of what has to change (autofocus), also where htmx put it.
document.addEventListener("htmx:afterSwap", (event) => {
  const summary = document.getElementById("problems");
  // A part that came while somebody types takes the focus from nobody.
  if (summary && event.detail.target.contains(summary)) summary.focus();
});

// A refused form has the status 422 and a page to show.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 422) Object.assign(event.detail, { shouldSwap: true, isError: false });
});

// One message for each phase of a run, and none within ten seconds of another one: for who listens to the page.
const SAY_AFTER = 10000;
let said = "";
let saidAt = 0;
document.addEventListener("htmx:afterSettle", () => {
  const now = document.getElementById("now");
  const live = document.getElementById("live");
  if (!now || !live || now.dataset.say === said || Date.now() - saidAt < SAY_AFTER) return;
  said = now.dataset.say;
  saidAt = Date.now();
  live.textContent = said;
});

// Draft: the sentences that the rules say about what is typed stand under their fields, too.
function spreadSentences(side) {
  const before = new Set([...document.querySelectorAll(".sentences:not(:empty)")].map((place) => place.id));
  for (const place of document.querySelectorAll(".sentences")) {
    place.replaceChildren();
    document.getElementById(place.id.slice("said-".length))?.removeAttribute("aria-invalid");
  }
  for (const link of side.querySelectorAll("a[data-field]")) {
    const place = document.getElementById("said-" + link.dataset.field);
    if (!place) continue;
    const sentence = document.createElement("p");
    sentence.className = "said-of-field";
    sentence.textContent = link.textContent;
    place.append(sentence);
    document.getElementById(link.dataset.field)?.setAttribute("aria-invalid", "true");
    for (let part = place; !before.has(place.id) && (part = part.parentElement?.closest("details")); ) part.open = true;
  }
}

// Draft: values as a tree by arrow keys and buttons. The text below it is what counts, and can be edited as well.
const INDENT = "  ";
function makeTree(area) {
  if (area.dataset.tree) return;
  area.dataset.tree = "made";
  const box = document.createElement("div");
  box.className = "tree-box";
  const list = document.createElement("ul");
  list.setAttribute("role", "tree");
  list.setAttribute("aria-label", document.querySelector(`label[for="${area.id}"]`).textContent + ", as a tree");
  const label = document.createElement("input");
  label.type = "text";
  label.setAttribute("aria-label", "Value to add, or its new name");
  box.append(list, label);
  let lines = [];
  let at = 0;
  const end = (from) => {  // the line after everything below a line
    let next = from + 1;
    while (next < lines.length && lines[next].depth > lines[from].depth) next += 1;
    return next;
  };
  const parent = (from) => {
    let above = from - 1;
    while (above >= 0 && lines[above].depth >= lines[from].depth) above -= 1;
    return above;
  };
  const depth = (line) => Math.floor((line.length - line.trimStart().length) / INDENT.length);
  const read = () => {
    lines = area.value.split("\n").filter((line) => line.trim()).map((line) => ({ label: line.trim(), depth: depth(line) }));
  };
  const draw = (focused) => {
    list.replaceChildren(...lines.map((line, number) => {
      const item = document.createElement("li");
      item.setAttribute("role", "treeitem");
      item.setAttribute("aria-level", line.depth + 1);
      item.setAttribute("aria-selected", number === at);
      if (end(number) > number + 1) item.setAttribute("aria-expanded", "true");
      item.tabIndex = number === at ? 0 : -1;
      item.textContent = line.label;
      item.style.marginLeft = `${line.depth * 1.5}rem`;
      item.addEventListener("click", () => go(number));
      return item;
    }));
    if (focused) list.children[at]?.focus();
  };
  const go = (number) => {
    at = Math.max(0, Math.min(lines.length - 1, number));
    draw(true);
  };
  const write = (focused = true) => {
    area.value = lines.map((line) => INDENT.repeat(line.depth) + line.label).join("\n");
    draw(focused);
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const swap = (first, second) => {  // two branches that follow each other
    const stop = end(second);
    lines = [...lines.slice(0, first), ...lines.slice(second, stop), ...lines.slice(first, second), ...lines.slice(stop)];
  };
  const add = (number, deeper) => {
    if (!label.value.trim()) return label.focus();
    lines.splice(number, 0, { label: label.value.trim(), depth: lines.length ? lines[at].depth + deeper : 0 });
    label.value = "";
    at = Math.min(number, lines.length - 1);
    write();
  };
  const shift = (by) => {
    for (let number = at, stop = end(at); number < stop; number += 1) lines[number].depth += by;
    write();
  };
  const acts = {
    "Add below": () => add(at + 1, 1),
    "Add beside": () => add(lines.length ? end(at) : 0, 0),
    Rename: () => {
      if (!label.value.trim() || !lines.length) return label.focus();
      lines[at].label = label.value.trim();
      label.value = "";
      write();
    },
    "Move up": () => {
      let above = at - 1;
      while (above >= 0 && lines[above].depth > lines[at].depth) above -= 1;
      if (above < 0 || lines[above].depth < lines[at].depth) return;
      swap(above, at);
      at = above;
      write();
    },
    "Move down": () => {
      const next = end(at);
      if (next >= lines.length || lines[next].depth !== lines[at].depth) return;
      const length = end(next) - next;
      swap(at, next);
      at += length;
      write();
    },
    "Move in": () => at > 0 && lines[at - 1].depth >= lines[at].depth && shift(1),
    "Move out": () => lines.length && lines[at].depth > 0 && shift(-1),
    "Take out": () => {
      lines.splice(at, end(at) - at);
      at = Math.max(0, at - 1);
      write();
    },
  };
  for (const [name, act] of Object.entries(acts)) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "plain", textContent: name });
    button.addEventListener("click", act);
    box.append(button);
  }
  list.addEventListener("keydown", (event) => {
    const moves = {
      ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), Home: () => go(0), End: () => go(lines.length - 1),
      ArrowLeft: () => parent(at) >= 0 && go(parent(at)), ArrowRight: () => end(at) > at + 1 && go(at + 1),
    };
    if (event.altKey || event.ctrlKey || event.metaKey || !moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
  area.addEventListener("change", () => { read(); at = Math.min(at, Math.max(0, lines.length - 1)); draw(false); });
  label.addEventListener("input", (event) => event.stopPropagation());
  read();
  draw(false);
  area.before(box);
}

// Plan: the slider and the number field say the same; fields that follow them are sent with other forms.
function followSlider(event) {
  const slider = document.getElementById("step"), field = document.getElementById("epsilon");
  if (!slider || !field || ![slider, field].includes(event.target)) return;
  const steps = slider.dataset.steps.split(" ");
  if (event.target === slider) field.value = steps[slider.value];
  else if (+field.value > 0) slider.value = steps.reduce((best, step, number) => Math.abs(step - field.value) < Math.abs(steps[best] - field.value) ? number : best, 0);
  slider.setAttribute("aria-valuetext", "epsilon " + field.value);
  document.querySelectorAll("[data-follows=epsilon]").forEach((other) => { other.value = field.value; });
}
document.addEventListener("input", followSlider, true);

const enhance = () => {
  document.querySelectorAll(".field.tree textarea").forEach(makeTree);
  // Draft: beside the fields there is room for the file; below them it would only be long.
  for (const file of document.querySelectorAll("details.file:not([data-placed])")) {
    file.dataset.placed = "yes";
    file.open = matchMedia("(min-width: 48.01rem)").matches;
  }
};
document.addEventListener("DOMContentLoaded", enhance);
document.addEventListener("htmx:afterSwap", (event) => {
  enhance();
  if (event.detail.target.id === "draft-side") spreadSentences(event.detail.target);
});
