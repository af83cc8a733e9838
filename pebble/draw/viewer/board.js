// The board: a position, its counts, the rules, and the way back.

const RED = 1, BLUE = 2, COMPUTED = 4;

class Board {
  constructor(given) {
    this.graph = given.graph_;
    this.M = given.M;
    this.rules = given.rules;
    this.recomputation = given.recomputation;
    this.reset();
  }

  reset() {
    const n = this.graph.numVertices;
    this.state = new Uint8Array(n);
    this.missing = 0;
    for (let v = 0; v < n; v++) {
      if (this.graph.isSource(v)) this.state[v] = BLUE;
      else if (this.graph.isOutput[v]) this.missing++;
    }
    this.codes = [];
    this.undone = []; // per move: whether it put something new, as the way back needs to know
    this.redWords = this.loads = this.stores = this.computes = this.recomputes = 0;
    // After each move, from the start: what the charts draw.
    this.history = { red: [0], loads: [0], stores: [0] };
  }

  get io() {
    return this.loads + this.stores;
  }

  get length() {
    return this.codes.length;
  }

  get isOver() {
    return this.missing === 0;
  }

  // The first reason that forbids a move, in the order of the rules, and the vertex to name; else null.
  whyIllegal(op, v) {
    if (!(v >= 0 && v < this.graph.numVertices)) return { reason: "vertex out of range", vertex: v };
    const state = this.state[v];
    if (op === STORE || op === DELETE) {
      return state & RED ? null : { reason: "not red", vertex: v };
    }
    if (op === COMPUTE) {
      if (this.graph.isSource(v)) return { reason: "is a source", vertex: v };
      if (state & RED) return { reason: "already red", vertex: v };
      if (state & COMPUTED && !this.recomputation) return { reason: "already computed", vertex: v };
      let bare = -1;
      for (const u of this.graph.preds(v)) {
        if (!(this.state[u] & RED) && (bare < 0 || u < bare)) bare = u;
      }
      if (bare >= 0) return { reason: "a predecessor is not red", vertex: bare };
    } else {
      if (state & RED) return { reason: "already red", vertex: v };
      if (!(state & BLUE)) return { reason: "not blue", vertex: v };
    }
    if (this.redWords + this.graph.weight(v) > this.M) return { reason: "no room", vertex: v };
    return null;
  }

  // The sentence that goes with a refusal.
  explain(op, v, problem) {
    const named = (u, kind) => kind + u + (this.graph.labels === null || !(u in this.graph.labels) ? "" : ` (${this.graph.labels[u]})`);
    switch (problem.reason) {
      case "vertex out of range": return `vertex ${v} is out of range, ids go from 0 to ${this.graph.numVertices - 1}`;
      case "is a source": return `${named(v, "vertex ")} is a source, it cannot be computed: load it`;
      case "already red": return `${named(v, "vertex ")} is already red`;
      case "already computed": return `${named(v, "vertex ")} is already computed, ${this.rules} rules allow one computation each`;
      case "a predecessor is not red": return `computing ${named(v, "")} needs predecessor ${named(problem.vertex, "")} red`;
      case "not blue": return `${named(v, "vertex ")} is not blue, there is nothing to load`;
      case "not red": return `${named(v, "vertex ")} is not red, there is nothing to ${OPERATIONS[op]}`;
    }
    if (this.redWords >= this.M) return `all ${this.M} red words are in use`;
    return `${named(v, "vertex ")} takes ${this.graph.weight(v)} words, only ${this.M - this.redWords} of ${this.M} are free`;
  }

  // Plays a legal move.
  push(op, v) {
    const words = this.graph.weight(v);
    let fresh = false;
    if (op === STORE) {
      fresh = !(this.state[v] & BLUE);
      this.state[v] |= BLUE;
      if (fresh && this.graph.isOutput[v]) this.missing--;
      this.stores += words;
    } else if (op === DELETE) {
      this.state[v] &= ~RED;
      this.redWords -= words;
    } else {
      if (op === LOAD) {
        this.loads += words;
      } else {
        fresh = !(this.state[v] & COMPUTED);
        this.state[v] |= COMPUTED;
        this.computes++;
        if (!fresh) this.recomputes++;
      }
      this.state[v] |= RED;
      this.redWords += words;
    }
    this.codes.push(((v << 2) | op) >>> 0);
    this.undone.push(fresh);
    this.history.red.push(this.redWords);
    this.history.loads.push(this.loads);
    this.history.stores.push(this.stores);
  }

  // Takes back the last move and returns its code.
  pop() {
    const code = this.codes.pop();
    const fresh = this.undone.pop();
    for (const series of Object.values(this.history)) series.pop();
    const op = code & 3, v = code >>> 2;
    const words = this.graph.weight(v);
    if (op === STORE) {
      this.stores -= words;
      if (fresh) {
        this.state[v] &= ~BLUE;
        if (this.graph.isOutput[v]) this.missing++;
      }
    } else if (op === DELETE) {
      this.state[v] |= RED;
      this.redWords += words;
    } else {
      if (op === LOAD) {
        this.loads -= words;
      } else {
        this.computes--;
        if (fresh) this.state[v] &= ~COMPUTED;
        else this.recomputes--;
      }
      this.state[v] &= ~RED;
      this.redWords -= words;
    }
    return code;
  }

  // The move that a click most likely means: what is free before what costs.
  likelyMove(v) {
    const state = this.state[v];
    if (state & RED) return this.graph.isOutput[v] && !(state & BLUE) ? STORE : DELETE;
    if (!this.graph.isSource(v) && this.whyIllegal(COMPUTE, v) === null) return COMPUTE;
    return state & BLUE ? LOAD : COMPUTE;
  }

  text() {
    return this.codes.map((code) => LETTERS[code & 3] + (code >>> 2)).join(" ");
  }
}

// Moves as lines of a schedule file that the command line reads; the graph travels with them.
function scheduleFile(given, board) {
  const graph = given.graph_;
  const lines = [
    "red-blue-pebble schedule 1",
    `graph: ${given.graph}`,
    `digest: sha256:${given.digest}`,
    `num_vertices: ${given.numVertices}`,
    `num_edges: ${given.numEdges}`,
    `M: ${given.M}`,
    `rules: ${given.rules}`,
    "producer: played by hand",
    `claim: ${board.io}`,
    "embedded: yes",
    `moves: ${board.length}`,
    "",
    "edges",
  ];
  for (let v = 0; v < given.numVertices; v++) {
    for (const u of graph.preds(v)) lines.push(`${u} ${v}`);
  }
  if (graph.weights !== null) lines.push("weights", ...chunks(graph.weights));
  const further = Array.from(graph.outputs).filter((v) => graph.successors[v].length > 0);
  if (further.length) lines.push("outputs", ...chunks(further));
  if (graph.labels !== null) lines.push("labels", JSON.stringify(graph.labels));
  lines.push("moves", ...chunks(board.codes.map((code) => LETTERS[code & 3] + (code >>> 2))), "end", "");
  return lines.join("\n");
}

function chunks(values) {
  const lines = [];
  for (let i = 0; i < values.length; i += 20) lines.push(Array.from(values.slice(i, i + 20)).join(" "));
  return lines;
}
