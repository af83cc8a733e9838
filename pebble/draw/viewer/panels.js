// The panels beside the board: figures, list of moves, message, and what the pointer is on.

const ROW_HEIGHT = 22;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

// rows: [name, value, id, class]
function showFigures(rows) {
  const box = byId("figures");
  box.replaceChildren();
  for (const [name, value, id, className] of rows) {
    const term = element("dt", "", name);
    term.title = name; // it may be cut
    box.append(term);
    const figure = element("dd", className || "", value);
    figure.id = `figure-${id}`;
    box.append(figure);
  }
}

function showMessage(text, kind) {
  const box = byId("message");
  box.textContent = text;
  box.className = kind || "";
}

function words(count) {
  return count === 1 ? "1 word" : `${grouped(count)} words`;
}

// An I/O cost: in words, or in I/Os where the rules set the cost of a word.
function ioText(flags, io) {
  if (flags.loadCost === 1 && flags.storeCost === 1) return `${words(io)} of I/O`;
  return `${grouped(io)} I/O${io === 1 ? "" : "s"}`;
}

// What an operation on a vertex costs.
function costText(flags, graph, move) {
  const moved = graph.weight(move.vertex);
  const io = ioOf(flags, move.op === LOAD ? moved : 0, move.op === STORE ? moved : 0);
  if (io > 0) return `costs ${ioText(flags, io)}`;
  return move.op === COMPUTE && flags.computeCost ? "no I/O" : "free";
}

// What a move is about: a vertex, or the edge that it aggregates.
function moveText(graph, move) {
  return (move.from < 0 ? "" : `${graph.names[move.from]} into `) + graph.names[move.vertex];
}

// A list of which only the rows in sight exist.
class MoveList {
  constructor(onPick) {
    this.box = byId("list");
    this.inner = byId("list-inner");
    this.length = 0;
    this.now = -1;
    this.row = () => [];
    this.box.addEventListener("scroll", () => this.draw());
    this.inner.addEventListener("click", (event) => {
      const row = event.target.closest(".move");
      if (row) onPick(Number(row.dataset.index));
    });
  }

  // row(i) gives [operation, class, text]; `now` is the index of the last one played.
  show(length, now, row) {
    this.length = length;
    this.row = row;
    this.inner.style.height = `${length * ROW_HEIGHT}px`;
    if (now !== this.now) {
      this.now = now;
      const top = Math.max(0, now) * ROW_HEIGHT, seen = this.box.clientHeight;
      if (top < this.box.scrollTop + ROW_HEIGHT || top > this.box.scrollTop + seen - 2 * ROW_HEIGHT) {
        this.box.scrollTop = top - seen / 2;
      }
    }
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - 2);
    const last = Math.min(this.length, first + Math.ceil(this.box.clientHeight / ROW_HEIGHT) + 5);
    const rows = [];
    for (let i = first; i < last; i++) {
      const [operation, className, text] = this.row(i);
      const row = element("div", `move${i === this.now ? " now" : i > this.now ? " later" : ""}`);
      row.style.top = `${i * ROW_HEIGHT}px`;
      row.dataset.index = String(i);
      row.append(element("span", "number", grouped(i + 1)));
      row.append(element("span", `operation ${className}`, operation));
      row.append(element("span", "vertex", text));
      row.title = text;
      rows.push(row);
    }
    this.inner.replaceChildren(...rows);
  }
}

function moveRow(board, code) {
  const move = board.read(code);
  return [OPERATIONS[move.op], move.op === LOAD ? "io" : move.op === STORE ? "io store" : "free", moveText(board.graph, move)];
}

function listed(graph, vertices) {
  const names = Array.from(vertices.slice(0, 6), (v) => graph.names[v]);
  return names.join(", ") + (vertices.length > 6 ? ` and ${vertices.length - 6} more` : "");
}

// Lines about a vertex: [text, is a heading].
function vertexLines(graph, board, v, likely) {
  const name = graph.names[v];
  const lines = [[name === `v${v}` ? `vertex ${v}` : `${name}  (vertex ${v})`, true]];
  const preds = graph.preds(v);
  const kind = graph.isSource(v) ? "a source" : graph.ops === null ? "" : graph.opNames[graph.ops[v]];
  if (preds.length) lines.push([`${kind ? `${kind} of` : "from"} ${listed(graph, preds)}`, false]);
  else lines.push([kind, false]);
  const used = graph.successors[v];
  lines.push([(graph.isOutput[v] ? "an output; " : "") + (used.length ? `used by ${listed(graph, used)}` : "used by none"), false]);
  if (graph.weights !== null) lines.push([words(graph.weight(v)), false]);
  if (board !== null) {
    const state = board.state[v];
    const pebbles = [state & RED ? "red" : "", state & BLUE ? "blue" : ""].filter(Boolean).join(" and ");
    lines.push([pebbles ? `is ${pebbles}` : state & COMPUTED ? "computed before, no pebble left" : "no pebble", false]);
    if (board.share(v) > 0) lines.push([shareText(graph, board, v), false]);
    if (likely !== null) lines.push([clickText(graph, board, v, likely), false]);
  }
  return lines;
}

function shareText(graph, board, v) {
  const left = Array.from(graph.preds(v)).filter((u, i) => !board.aggregated[graph.indptr[v] + i]);
  const lost = board.state[v] & (RED | BLUE) ? "" : "; its partial value is lost";
  return `${board.done[v]} of ${graph.inDegree(v)} aggregated, to come: ${listed(graph, left)}${lost}`;
}

function clickText(graph, board, v, op) {
  const problem = whyNotOn(board, op, v);
  if (problem !== null) return `click: ${OPERATIONS[op]}: refused, ${problem.reason}`;
  const move = board.read(((moveOn(board, op, v) << 2) | op) >>> 0);
  return `click: ${OPERATIONS[op]}${move.from < 0 ? "" : ` with ${graph.names[move.from]}`}, ${costText(board.flags, graph, move)}`;
}

function showTip(lines, x, y) {
  const tip = byId("tip");
  tip.hidden = lines === null;
  if (lines === null) return;
  tip.replaceChildren(...lines.map(([text, heading]) => {
    const line = element("div");
    line.append(element(heading ? "b" : "span", "", text));
    return line;
  }));
  const stage = byId("stage").getBoundingClientRect();
  const left = x + 16 + tip.offsetWidth > stage.width ? x - 12 - tip.offsetWidth : x + 16;
  const top = y + 16 + tip.offsetHeight > stage.height ? y - 12 - tip.offsetHeight : y + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}
