"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const PAGE = 200;
const BAD = new Set(["fail", "crashed", "timeout"]);
const MARKS = {"pass-exact": "✓", unsupported: "–", skipped: "?", xfail: "✕", fail: "✗", crashed: "☠", timeout: "⏱"};

/** An element with attributes and children; text is always text. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const groupOf = (address) => address.slice(0, address.indexOf(":"));
const cells = data.cells.map(([address, backend, state, time], number) => ({
  number, address: data.addresses[address], group: groupOf(data.addresses[address]),
  backend: data.backends[backend].id, state: data.states[state], time,
}));
const groups = [...new Set(cells.map((cell) => cell.group))];
const backends = data.backends.filter((backend) => !backend.problem).map((backend) => backend.id);
const states = data.states.filter((state) => cells.some((cell) => cell.state === state));
const chosen = {text: "", group: "", backend: "", states: new Set(states.some((s) => BAD.has(s)) ? states.filter((s) => BAD.has(s)) : states)};
let shown = PAGE;

// ── head ──

function head() {
  const bad = cells.filter((cell) => BAD.has(cell.state)).length;
  const survived = data.kills.filter((kill) => kill[3] === null).length;
  const proven = data.exit === 0;
  at("verdict").textContent = data.verdict;
  at("verdict").className = proven ? "well" : "bad";
  const parts = [`${cells.length.toLocaleString("en")} cells on ${backends.length} backend${backends.length === 1 ? "" : "s"}`];
  parts.push(bad ? `${bad.toLocaleString("en")} of them wrong` : "none of them wrong");
  if (data.kills.length) parts.push(`${data.kills.length - survived} of ${data.kills.length} planted faults found`);
  if (data.mismatches.length) parts.push(`${data.mismatches.length} cases in doubt`);
  if (data.undecided.length) parts.push(`${data.undecided.length} cases undecided`);
  at("summary").textContent = parts.join(", ");
  at("about").textContent = `Of: ${data.about}.`;
  for (const words of data.weaker) at("weaker").append(make("li", {}, words));
  document.title = `${at("verdict").textContent}: vyre conformance`;
  for (const backend of data.backends) {
    const facts = backend.problem ? `${backend.problem}. Fix: ${backend.fix}` : Object.values(backend.facts).filter(Boolean).join(", ");
    at("backends").append(make("dt", {}, backend.version && backend.version !== "unspecified" ? `${backend.id} ${backend.version}` : backend.id), make("dd", {}, facts));
  }
}

// ── matrix ──

function matrix() {
  const tally = new Map();
  for (const cell of cells) {
    const key = `${cell.group}\n${cell.backend}`;
    if (!tally.has(key)) tally.set(key, new Map());
    tally.get(key).set(cell.state, (tally.get(key).get(cell.state) ?? 0) + 1);
  }
  const body = make("tbody");
  for (const group of groups) {
    const row = make("tr", {}, make("th", {scope: "row"}, group));
    for (const backend of backends) row.append(make("td", {}, bar(group, backend, tally.get(`${group}\n${backend}`))));
    body.append(row);
  }
  at("matrix").style.setProperty("--backends", backends.length);
  const titles = backends.map((backend) => make("th", {scope: "col"}, ...parted(backend)));
  at("matrix").append(make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "group"), ...titles)), body);
  for (const state of states) at("legend").append(make("li", {}, make("span", {class: `swatch s-${state}`}), `${MARKS[state]} ${state}`));
}

function bar(group, backend, counts) {
  if (!counts) return make("span", {class: "where"}, "–");
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  const fill = make("span", {class: "fill", "aria-hidden": "true"});
  for (const state of states) if (counts.has(state)) fill.append(make("i", {class: `s-${state}`, style: `flex:${counts.get(state)}`}));
  const words = states.filter((state) => counts.has(state)).map((state) => `${counts.get(state)} ${state}`).join(", ");
  const wrong = [...BAD].reduce((sum, state) => sum + (counts.get(state) ?? 0), 0);
  const number = make("span", {class: "number"}, wrong ? make("b", {}, `${wrong} wrong`) : null, `${wrong ? " / " : ""}${total.toLocaleString("en")}`);
  const pick = () => choose(group, backend);
  return make("button", {type: "button", class: "bar", title: words, "aria-label": `${group} on ${backend}: ${words}`, "aria-pressed": "false",
    "data-key": `${group}\n${backend}`, onclick: pick}, fill, number);
}

function choose(group, backend) {
  const same = chosen.group === group && chosen.backend === backend;
  chosen.group = at("group").value = same ? "" : group;
  chosen.backend = at("backend").value = same ? "" : backend;
  if (!matching().length) chosen.states = new Set(states);
  chips();
  list();
}

// ── failures and refusals ──

function failures() {
  at("failures").hidden = !data.failures.length;
  for (const numbers of data.failures) {
    const cell = cells[numbers[0]];
    const node = row(cell);
    if (numbers.length > 1) {
      const others = numbers.slice(1).map((number) => cells[number].address);
      node.querySelector("summary").append(make("b", {}, `×${numbers.length.toLocaleString("en")}`));
      node.append(part(`${others.length.toLocaleString("en")} equal failures`, make("pre", {tabindex: "0"}, others.join("\n"))));
    }
    at("groups").append(node);
  }
  at("reasons").hidden = !data.unsupported.length;
  const head = make("thead", {}, make("tr", {}, ...["backend", "state", "cells", "reason"].map((title) => make("th", {scope: "col"}, title))));
  at("why").append(head, make("tbody", {}, ...data.unsupported.map(([backend, state, reason, count]) => make("tr", {},
    make("td", {class: "where"}, backend), make("td", {}, `${MARKS[state]} ${state}`), make("td", {}, count.toLocaleString("en")), make("td", {}, reason)))));
}

// ── filter ──

function controls() {
  for (const [id, label, values] of [["group", "all groups", groups], ["backend", "all backends", backends]]) {
    at(id).append(make("option", {value: ""}, label), ...values.map((value) => make("option", {value}, value)));
    at(id).addEventListener("change", () => { chosen[id] = at(id).value; list(); });
  }
  at("text").addEventListener("input", () => { chosen.text = at("text").value; list(); });
  at("filter").addEventListener("submit", (event) => event.preventDefault());
  at("more").addEventListener("click", () => { shown += PAGE; list(true); });
  chips();
}

function chips() {
  at("states").replaceChildren(...states.map((state) => make("label", {class: `chip s-${state}`},
    make("input", {type: "checkbox", checked: chosen.states.has(state), onchange: (event) => {
      if (event.target.checked) chosen.states.add(state); else chosen.states.delete(state);
      list();
    }}), make("span", {}, `${MARKS[state]} ${state}`))));
}

function matching() {
  const words = chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
  return cells.filter((cell) => chosen.states.has(cell.state) && (!chosen.group || cell.group === chosen.group)
    && (!chosen.backend || cell.backend === chosen.backend)
    && words.every((word) => cell.address.toLowerCase().includes(word) || (data.reasons[cell.number] ?? "").toLowerCase().includes(word)));
}

// ── cells ──

function list(keep = false) {
  if (!keep) shown = PAGE;
  const found = matching();
  at("count").textContent = `${found.length.toLocaleString("en")} of ${cells.length.toLocaleString("en")} cells`;
  at("list").replaceChildren(...found.slice(0, shown).map(row));
  at("more").hidden = found.length <= shown;
  for (const button of document.querySelectorAll(".bar")) {
    button.setAttribute("aria-pressed", String(button.dataset.key === `${chosen.group}\n${chosen.backend}`));
  }
}

function row(cell) {
  const time = cell.time >= 1000 ? `${(cell.time / 1000).toFixed(1)} ms` : `${cell.time} µs`;
  const summary = make("summary", {}, make("span", {class: `state s-${cell.state}`}, `${MARKS[cell.state]} ${cell.state}`),
    make("span", {class: "mono"}, cell.address), make("span", {class: "where"}, ...parted(cell.backend)), make("span", {class: "time"}, time));
  const node = make("details", {}, summary);
  node.addEventListener("toggle", () => { if (node.open && !node.querySelector(".inside")) summary.after(inside(cell)); });
  return node;
}

function part(title, ...children) {
  return make("div", {}, make("h3", {}, title), ...children);
}

function inside(cell) {
  const facts = data.details[cell.number] ?? {};
  const node = make("div", {class: "inside"});
  if (data.reasons[cell.number]) node.append(part("Reason", make("p", {}, data.reasons[cell.number])));
  if (facts.got) {
    const pairs = make("dl", {class: "pair mono"}, make("dt", {}, "where"), make("dd", {}, `${facts.output}[${facts.index}]`),
      make("dt", {}, "got"), make("dd", {class: "got"}, facts.got), make("dt", {}, "expected"), make("dd", {class: "wanted"}, facts.expected));
    if (facts.ulp != null) pairs.append(make("dt", {}, "apart"), make("dd", {}, `${facts.ulp.toLocaleString("en")} ULP`));
    if (facts.differing > 1) pairs.append(make("dt", {}, "differing"), make("dd", {}, `${facts.differing.toLocaleString("en")} elements`));
    node.append(part("Result", pairs));
  }
  if (facts.window) {
    const sides = [facts.window.got, facts.window.expected].map((side) => side.split(" "));
    const differs = new Set(sides[0].map((element, n) => (element === sides[1][n] ? -1 : n)));
    const title = (side) => `${facts.output}, ${side}, in hexadecimal from [${facts.window.first.toLocaleString("en")}]`;
    node.append(part(title("got"), dump(sides[0], differs)), part(title("expected"), dump(sides[1], differs)));
  }
  const again = `vyre-conform run --backend ${cell.backend} --cases '${cell.address}' ${data.again}`;
  node.append(part("Again", make("pre", {tabindex: "0", class: "wraps"}, facts.command ?? again)));
  if (facts.log) node.append(part("Last words of the process", make("pre", {tabindex: "0"}, facts.log)));
  for (const input of facts.inputs ?? []) {
    const all = input.shown === input.count;
    const which = all ? "" : `, from [${input.first.toLocaleString("en")}] to [${(input.first + input.shown - 1).toLocaleString("en")}]`;
    const title = `Input ${input.name}: ${input.type}, ${input.count.toLocaleString("en")} elements in hexadecimal${which}`;
    const same = new Set(facts.index == null ? [] : [facts.index - input.first]);
    node.append(part(title, dump(input.hex.split(" "), same)));
  }
  if (facts.program) node.append(part("Program", make("pre", {tabindex: "0"}, facts.program)));
  if (facts.source) node.append(part("Emitted source", make("pre", {tabindex: "0"}, facts.source)));
  return node;
}

/** A name that may be broken where its parts meet. */
const parted = (name) => name.split(/(?<=[.:])/).flatMap((word, n) => (n ? [make("wbr"), word] : [word]));

/** Elements in rows, those at the marked places between brackets. */
function dump(elements, marked) {
  const row = Math.max(1, Math.floor(72 / (elements[0].length + 2)));
  const words = elements.flatMap((element, n) => {
    const gap = n % row === row - 1 ? "\n" : "";
    return marked.has(n) ? [make("mark", {}, `[${element}]`), gap] : [` ${element} `, gap];
  });
  return make("pre", {tabindex: "0"}, ...words);
}

// ── the rest ──

function faults() {
  at("kills").hidden = !data.kills.length;
  const head = make("thead", {}, make("tr", {}, ...["layer", "fault", "found by"].map((title) => make("th", {scope: "col"}, title))));
  const rows = data.kills.map(([layer, id, summary, by, how]) => make("tr", {}, make("td", {class: "where"}, layer),
    make("td", {}, summary, make("br"), make("code", {class: "where"}, id)),
    make("td", {}, by === null ? make("span", {}, make("b", {class: "state s-fail"}, "✗ survived "), how) : make("code", {title: how}, by))));
  at("faults").append(head, make("tbody", {}, ...rows));
}

function executed() {
  at("executed").hidden = !data.executed.length;
  const titles = ["family", "kinds", "executed", "executions", "not executed"];
  const head = make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", {scope: "col"}, title))));
  const rows = data.executed.map(([family, kinds, reached, times, missing]) => make("tr", {}, make("th", {scope: "row"}, family),
    ...[kinds, reached, times].map((number) => make("td", {}, number.toLocaleString("en"))), make("td", {}, absent(missing))));
  at("families").append(head, make("tbody", {}, ...rows));
}

function absent(kinds) {
  if (kinds.length < 4) return make("code", {}, kinds.join(", "));
  return make("details", {}, make("summary", {}, `${kinds.length.toLocaleString("en")} kinds`), make("code", {}, kinds.join(", ")));
}

function facts() {
  for (const [name, value] of data.facts) at("facts").append(make("dt", {}, name), make("dd", {class: "mono"}, value));
  for (const late of data.undecided) {
    at("facts").append(make("dt", {}, "undecided"), make("dd", {class: "mono"}, `${late.case}: ${late.opinion}: ${late.why}`));
  }
  for (const mismatch of data.mismatches) {
    at("facts").append(make("dt", {}, "in doubt"), make("dd", {class: "mono"}, `${mismatch.case}: ${mismatch.opinion}: ${mismatch.reason}`));
  }
}

head();
matrix();
controls();
failures();
list();
faults();
executed();
facts();
