// The page: everything wired together.

const given = readDocument();
const player = new Player(given);
const painter = new Painter(byId("board"));
const memoryChart = new Chart(byId("memory-chart"), "Words in fast memory");
const unitCosts = given.flags.loadCost === 1 && given.flags.storeCost === 1;
const ioChart = new Chart(byId("io-chart"), unitCosts ? "I/O so far, in words" : "I/O so far");
const list = new MoveList((index) => {
  if (player.watching) {
    player.playing = false;
    player.seek(index + 1);
    show();
  }
});

// -- showing ---------------------------------------------------------------------------------------------

let wanted = false;

// Everything is redrawn at the next frame, once.
function show() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(() => {
    wanted = false;
    render();
  });
}

function render() {
  const watching = player.watching;
  if (painter.resize() && painter.fitted !== false) painter.fit(player.layout);
  painter.draw(player.scene());
  const recording = player.recording;
  const chart = watching ? recording.chart() : { x: null, length: Math.max(1, player.own.length), ...player.own.history };
  const now = watching ? recording.moves : player.own.length;
  const version = watching ? "watch" : `own ${player.version}`;
  const colours = painter.colours;
  memoryChart.draw({ x: chart.x, length: chart.length, series: [{ label: "red words", values: chart.red, colour: colours["red-line"], dash: [], width: 1.5 }], levels: [{ value: given.M, label: `M = ${grouped(given.M)}` }] }, now, colours, version);
  ioChart.draw({ x: chart.x, length: chart.length, series: ioSeries(chart, colours), levels: ioLevels() }, now, colours, version);
  renderFigures();
  showMessage(...player.said);
  renderList();
  byId("mode-watch").setAttribute("aria-pressed", String(watching));
  byId("mode-play").setAttribute("aria-pressed", String(!watching));
  byId("tools").hidden = watching;
  byId("transport").hidden = !watching;
  if (watching) {
    byId("scrubber").value = String(recording.t);
    byId("clock").textContent = `${grouped(recording.moves)} / ${grouped(given.schedule.numMoves)} moves`;
    byId("play-button").textContent = player.playing ? "Pause" : "Play";
    byId("speed").value = String(player.speed);
  }
  for (const button of document.querySelectorAll("[data-tool]")) {
    button.setAttribute("aria-pressed", String(button.dataset.tool === String(player.tool)));
  }
}

let costs = { of: null };

// What loads and stores have cost, and their sum.
function ioSeries(chart, colours) {
  if (!player.watching || costs.of !== chart.loads) {
    const { loadCost, storeCost } = given.flags, priced = (series, cost) => (cost === 1 ? series : series.map((words) => cost * words));
    const loads = priced(chart.loads, loadCost), stores = priced(chart.stores, storeCost);
    costs = { of: chart.loads, loads, stores, io: Array.from(loads, (value, t) => value + stores[t]) };
  }
  return [
    { label: "loads", values: costs.loads, colour: colours["red-line"], dash: [6, 3], width: 1.3 },
    { label: "stores", values: costs.stores, colour: colours["blue-line"], dash: [2, 2], width: 1.5 },
    { label: "I/O", values: costs.io, colour: colours.ink, dash: [], width: 1.6 },
  ];
}

function ioLevels() {
  const { optimum, best, bound } = given.reference;
  if (optimum !== null) return [{ value: optimum, label: `optimum ${grouped(optimum)}` }];
  const levels = [];
  if (best !== null && !player.watching) levels.push({ value: best, label: `best known ${grouped(best)}` });
  if (bound !== null) levels.push({ value: bound, label: `lower bound ${grouped(bound)}` });
  return levels;
}

function renderFigures() {
  const f = player.figures, { flags } = given, { optimum, best, bestBy, bound } = given.reference;
  const over = !player.watching && player.own.isOver;
  const good = over && (f.io === optimum || f.io === bound) ? " good" : "";
  const rows = [
    [player.watching ? "I/O" : "your I/O", grouped(f.io), "io", `main${good}`],
    ["loads + stores", [[f.loads, flags.loadCost], [f.stores, flags.storeCost]].map(([count, cost]) => grouped(count) + (cost === 1 ? "" : `×${grouped(cost)}`)).join(" + "), "parts"],
    [f instanceof Board ? "red words" : "most red words", `${grouped(f.redWords)} of ${grouped(given.M)}${f.openSlide >= 0 ? ", in a slide" : ""}`, "red"],
    ["computes", grouped(f.computes) + (f.recomputes ? ` (${grouped(f.recomputes)} again)` : ""), "computes"],
  ];
  if (flags.computeCost) rows.push(["compute cost", String(Number((flags.computeCost * f.computes).toPrecision(12))), "charge"]);
  if (player.watching && given.schedule.cost !== null) rows.push(["I/O in the end", grouped(given.schedule.cost.io), "end"]);
  if (!player.watching) rows.push(["outputs left", grouped(player.own.missing), "missing"]);
  if (optimum !== null) rows.push(["optimum", grouped(optimum), "optimum"]);
  else {
    if (best !== null) rows.push([bestBy ? `best known (${bestBy})` : "best known", grouped(best), "best"]);
    if (bound !== null) rows.push(["at least", grouped(bound), "bound"]);
  }
  showFigures(rows);
}

function renderList() {
  if (player.watching && player.recording instanceof SteppedRecording) {
    const { ends, loads, stores } = player.recording.steps;
    byId("list-title").textContent = "Steps of many moves, and their I/O";
    list.show(player.recording.length, player.recording.t - 1, (i) => {
      const io = `${grouped(loads[i + 1] - loads[i])} L, ${grouped(stores[i + 1] - stores[i])} S`;
      return [`…${grouped(ends[i + 1])}`, "", io];
    });
    return;
  }
  const codes = player.watching ? player.recording.codes : player.own.codes;
  byId("list-title").textContent = player.watching ? `Moves${given.schedule.producer ? ` of ${given.schedule.producer}` : ""}` : "Your moves";
  list.show(codes.length, player.board.length - 1, (i) => moveRow(player.board, codes[i]));
}

function renderTip(x, y) {
  const c = player.hover;
  if (c < 0) return showTip(null);
  if (player.graph !== null) {
    const playing = !player.watching;
    return showTip(vertexLines(player.graph, player.board, c, playing ? player.moveFor(c) : null), x, y);
  }
  const { names, members, scale } = player.layout;
  const share = (colour) => Math.round(player.recording.level(colour, c) * 100);
  const whole = members[c] === scale[c] ? "its vertices" : `its ${grouped(scale[c])} entries`;
  showTip([[names[c], true], [`${grouped(members[c])} vertices`, false], [`red: ${share("red")}% of ${whole}`, false], [`blue: ${share("blue")}% of ${whole}`, false]], x, y);
}

// -- the pointer -----------------------------------------------------------------------------------------

let grip = null; // where the button went down, and whether it has moved since

function pointAt(event) {
  const box = painter.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

painter.canvas.addEventListener("pointerdown", (event) => {
  const [x, y] = pointAt(event);
  grip = { x, y, moved: false };
  painter.canvas.setPointerCapture(event.pointerId);
});
painter.canvas.addEventListener("pointermove", (event) => {
  const [x, y] = pointAt(event);
  if (grip !== null && (grip.moved || Math.hypot(x - grip.x, y - grip.y) > 4)) {
    painter.pan(x - grip.x, y - grip.y);
    grip = { x, y, moved: true };
    player.hover = -1;
  } else player.hover = painter.cellAt(x, y);
  painter.canvas.style.cursor = player.hover >= 0 ? "pointer" : "default";
  renderTip(x, y);
  show();
});
painter.canvas.addEventListener("pointerup", (event) => {
  const clicked = grip !== null && !grip.moved;
  grip = null;
  if (!clicked) return;
  const [x, y] = pointAt(event);
  const c = painter.cellAt(x, y);
  if (!player.watching && c >= 0) player.tryOn(player.moveFor(c), c);
  else player.selected = player.graph !== null ? c : -1;
  player.hover = c;
  renderTip(x, y);
  show();
});
painter.canvas.addEventListener("pointerleave", () => {
  player.hover = -1;
  showTip(null);
  show();
});
painter.canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  painter.zoom(Math.exp(-event.deltaY * 0.0015), ...pointAt(event));
  show();
}, { passive: false });

for (const chart of [memoryChart, ioChart]) {
  const seek = (event) => {
    if (!player.watching || !(event.buttons & 1)) return;
    const box = chart.canvas.getBoundingClientRect();
    const share = chart.share(event.clientX - box.left);
    player.playing = false;
    player.seek(share * player.recording.length);
    show();
  };
  chart.canvas.addEventListener("pointerdown", seek);
  chart.canvas.addEventListener("pointermove", seek);
}

// -- buttons and keys ------------------------------------------------------------------------------------

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  painter.readColours();
  show();
}

function fit() {
  painter.fit(player.layout);
  show();
}

function changeLayout() {
  if (given.layouts.length < 2) return;
  player.layoutIndex = 1 - player.layoutIndex;
  nameLayoutButton();
  fit();
}

function nameLayoutButton() {
  const button = byId("layout-button");
  button.hidden = given.layouts.length < 2;
  button.textContent = player.layout.kind === "arrays" ? "Show layers" : "Show arrays";
}

function setTool(tool) {
  if (tool === "auto" || isOffered(given.flags, tool)) player.tool = tool;
}

function saveGame() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([scheduleFile(given, player.own)], { type: "text/plain" }));
  link.download = "my-game.pebble";
  link.click();
  URL.revokeObjectURL(link.href);
}

function step(by) {
  player.playing = false;
  player.seek(player.recording.t + by);
}

function faster(by) {
  const at = SPEEDS.indexOf(player.speed) + by;
  player.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at))];
}

// The vertex that a letter key is about: the one under the pointer, else the one chosen with the arrows.
function target() {
  return player.hover >= 0 ? player.hover : player.selected;
}

function operate(op) {
  if (target() >= 0) player.tryOn(op, target());
  else setTool(op);
}

function choose(dx, dy) {
  player.hover = -1;
  showTip(null);
  player.selected = player.neighbour(dx, dy);
  const v = player.selected;
  player.say(vertexLines(player.graph, player.board, v, player.moveFor(v)).map(([text]) => text).filter(Boolean).join("; ") + ".", "");
}

const KEYS = [
  ["w", "watch the schedule", () => player.setMode("watch"), "any"],
  ["p", "play yourself", () => player.setMode("play"), "any"],
  ["f", "the whole graph", fit, "any"],
  ["v", "layers or arrays", changeLayout, "any"],
  ["t", "light or dark", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"), "any"],
  ["?", "this help", () => byId("help").showModal(), "any"],
  [" ", "play or pause", () => player.togglePlay(), "watch"],
  ["ArrowLeft", "one back (with shift: a hundredth)", (event) => step(event.shiftKey ? -leap() : -1), "watch"],
  ["ArrowRight", "one on (with shift: a hundredth)", (event) => step(event.shiftKey ? leap() : 1), "watch"],
  ["Home", "to the start", () => step(-Infinity), "watch"],
  ["End", "to the end", () => step(Infinity), "watch"],
  ["+", "faster", () => faster(1), "watch"],
  ["-", "slower", () => faster(-1), "watch"],
  ["ArrowLeft", "choose a vertex with the arrows", () => choose(-1, 0), "play"],
  ["ArrowRight", "", () => choose(1, 0), "play"],
  ["ArrowUp", "", () => choose(0, -1), "play"],
  ["ArrowDown", "", () => choose(0, 1), "play"],
  ["Enter", "the likely move on the chosen vertex", () => target() >= 0 && player.tryOn(likelyMove(player.own, target()), target()), "play"],
  ["l", "load it (or: clicks load)", () => operate(LOAD), "play"],
  ["c", "compute it (or: clicks compute)", () => operate(COMPUTE), "play"],
  ["s", "store it (or: clicks store)", () => operate(STORE), "play"],
  ["d", "delete its red pebble (or: clicks delete)", () => operate(DELETE), "play"],
  ["a", "clicks do what is most likely wanted", () => setTool("auto"), "play"],
  ["u", "take back the last move", () => player.undo(), "play"],
  ["r", "restart", () => player.restart(), "play"],
];

function leap() {
  return Math.max(1, Math.round(player.recording.length / 100));
}

document.addEventListener("keydown", (event) => {
  if (byId("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const on = event.target instanceof Element ? event.target : document.body;
  if (on.closest("select") || (on.closest("button") && (event.key === " " || event.key === "Enter"))) return;
  const key = event.key === "=" ? "+" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = KEYS.find(([name, , , when]) => name === key && (when === "any" || when === player.mode));
  if (!found) return;
  event.preventDefault();
  found[2](event);
  show();
});

const CLICKS = {
  "mode-watch": () => player.setMode("watch"),
  "mode-play": () => player.setMode("play"),
  "layout-button": changeLayout,
  "theme-button": () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
  "help-button": () => byId("help").showModal(),
  "zoom-in": () => painter.zoom(1.4, painter.width / 2, painter.height / 2),
  "zoom-out": () => painter.zoom(1 / 1.4, painter.width / 2, painter.height / 2),
  "zoom-fit": fit,
  "to-start": () => step(-Infinity),
  "step-back": () => step(-1),
  "play-button": () => player.togglePlay(),
  "step-on": () => step(1),
  "to-end": () => step(Infinity),
  "take-over": () => player.takeOver(),
  undo: () => player.undo(),
  restart: () => player.restart(),
  save: saveGame,
};
for (const [id, act] of Object.entries(CLICKS)) {
  byId(id).addEventListener("click", () => {
    act();
    show();
  });
}
for (const button of document.querySelectorAll("[data-tool]")) {
  button.addEventListener("click", () => {
    setTool(button.dataset.tool === "auto" ? "auto" : Number(button.dataset.tool));
    show();
  });
}
byId("scrubber").addEventListener("input", () => {
  player.playing = false;
  player.seek(Number(byId("scrubber").value));
  show();
});
byId("speed").addEventListener("change", () => {
  player.speed = Number(byId("speed").value);
});

// -- the start -------------------------------------------------------------------------------------------

function start() {
  byId("title").textContent = given.title;
  const red = given.redAtStart.length;
  const started = red ? `, ${red === 1 ? "1 vertex" : `${grouped(red)} vertices`} red at the start` : "";
  byId("subtitle").textContent = `${grouped(given.numVertices)} vertices, ${grouped(given.numEdges)} edges; M = ${grouped(given.M)}, rules ${given.rules}${started}`;
  const problems = [];
  if (given.schedule !== null && given.schedule.problem) problems.push(`The referee refuses this schedule: ${given.schedule.problem}.`);
  if (given.M < given.leastM) problems.push(`M = ${given.M} is too small: this graph needs M of at least ${given.leastM}.`);
  byId("banner").textContent = problems.join(" ");
  byId("banner").hidden = !problems.length;
  byId("mode-watch").disabled = player.recording === null;
  byId("mode-play").disabled = byId("take-over").disabled = player.own === null;
  if (player.own === null) byId("mode-play").title = byId("take-over").title = "The graph is too large to play by hand";
  else if (player.recording instanceof SteppedRecording) byId("take-over").disabled = true;
  if (player.recording !== null) byId("scrubber").max = String(player.recording.length);
  const unit = player.recording instanceof SteppedRecording ? "steps/s" : "moves/s";
  for (const speed of SPEEDS) byId("speed").append(new Option(`${grouped(speed)} ${unit}`, String(speed)));
  for (const [key, text, , when] of KEYS) {
    if (!text || (key === "d" && !isOffered(given.flags, DELETE))) continue;
    const name = { " ": "space", ArrowLeft: when === "play" ? "← → ↑ ↓" : "←", ArrowRight: "→" }[key] || (key.length > 1 ? key : key.toUpperCase());
    const row = element("div", "key");
    row.append(element("kbd", "", name), element("span", "", (when === "any" ? "" : `${when}: `) + text));
    byId("keys").append(row);
  }
  for (const [name, text] of rulesInWords(given.flags)) {
    const line = element("p");
    line.append(element("b", "", name), ` ${text}`);
    byId("rules").append(line);
  }
  document.querySelector("[data-tool='3']").hidden = !isOffered(given.flags, DELETE);
  document.querySelector("#legend .begun-mark").parentElement.hidden = !given.flags.partial || player.graph === null;
  document.querySelector("#legend .output-mark").parentElement.hidden = player.graph === null;
  document.querySelector("#legend .past-pebble").parentElement.hidden = player.recording instanceof SteppedRecording;
  nameLayoutButton();
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  painter.readColours();
  painter.resize();
  painter.fit(player.layout);
  if (player.watching) player.describe();
  else player.say(player.standing(), "");
  new ResizeObserver(show).observe(byId("stage"));
  render();
}

let before = 0;

function tick(time) {
  if (player.advance(Math.min(0.25, (time - before) / 1000))) render();
  before = time;
  requestAnimationFrame(tick);
}

start();
requestAnimationFrame(tick);
