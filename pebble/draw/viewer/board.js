// The board: a position, what is counted, and the way back. What is allowed on it stands in rules.js.

// Under partial rules COMPUTED marks the vertices that are complete.
const RED = 1, BLUE = 2, COMPUTED = 4;

class Board {
  constructor(given) {
    this.graph = given.graph_;
    this.M = given.M;
    this.rules = given.rules;
    this.flags = given.flags;
    this.redAtStart = given.redAtStart;
    this.reset();
  }

  reset() {
    const { graph, flags } = this, n = graph.numVertices;
    this.state = new Uint8Array(n);
    this.aggregated = new Uint8Array(flags.partial ? graph.numEdges : 0);
    this.done = new Int32Array(flags.partial ? n : 0); // in-edges aggregated, per vertex
    this.slide = -1; // the vertex just computed where deleting a predecessor would now be a slide
    this.redWords = this.loads = this.stores = this.computes = this.recomputes = this.missing = 0;
    for (let v = 0; v < n; v++) {
      if (this.isGiven(v)) this.state[v] = BLUE;
    }
    for (const v of this.redAtStart) {
      this.state[v] |= this.isGiven(v) ? RED : RED | COMPUTED;
      this.redWords += graph.weight(v);
      if (flags.partial) {
        this.aggregated.fill(1, graph.indptr[v], graph.indptr[v + 1]);
        this.done[v] = graph.inDegree(v);
      }
    }
    for (const v of graph.outputs) this.missing += this.isDone(v) ? 0 : 1;
    this.codes = [];
    this.undone = []; // per move: the state of its vertex before it, and the slide
    // After each move, from the start: what the charts draw. In a slide one pebble is on its way, so the
    // red words are never above M.
    this.history = { red: [this.redWords], loads: [0], stores: [0] };
  }

  // -- what can be asked ---------------------------------------------------------------------------------

  get io() {
    return ioOf(this.flags, this.loads, this.stores);
  }

  get length() {
    return this.codes.length;
  }

  get isOver() {
    return this.missing === 0 && this.openSlide < 0;
  }

  // The vertex whose slide must be finished by the next move, or -1.
  get openSlide() {
    return this.redWords > this.M ? this.slide : -1;
  }

  // Whether a vertex is blue from the start and never computed.
  isGiven(v) {
    return this.graph.isSource(v) && !this.flags.freeSources;
  }

  isComplete(v) {
    return this.isGiven(v) || (this.state[v] & COMPUTED) !== 0;
  }

  // Whether an output carries what it must carry at the end.
  isDone(v) {
    const pebbles = this.flags.outputs === "any" ? RED | BLUE : BLUE;
    return this.isGiven(v) || ((this.state[v] & pebbles) !== 0 && (this.state[v] & COMPUTED) !== 0);
  }

  // The share of its in-edges that a vertex has aggregated, where it has begun and is not complete; else 0.
  share(v) {
    return this.flags.partial && !this.isComplete(v) && this.done[v] > 0 ? this.done[v] / this.graph.inDegree(v) : 0;
  }

  // Whether a move names an edge, as the computes of partial rules do.
  namesEdge(op, id) {
    return op === COMPUTE && this.flags.partial && id < this.graph.numEdges;
  }

  // The vertex that a move is about. Beyond the edges a compute of partial rules names a source.
  vertexOf(op, id) {
    if (this.namesEdge(op, id)) return this.graph.heads[id];
    return op === COMPUTE && this.flags.partial ? id - this.graph.numEdges : id;
  }

  // Move t as it is drawn and told: its operation, its vertex, and the predecessor if it names an edge.
  moveAt(t) {
    return this.read(this.codes[t]);
  }

  read(code) {
    const op = code & 3, id = code >>> 2;
    return { op, vertex: this.vertexOf(op, id), from: this.namesEdge(op, id) ? this.graph.indices[id] : -1 };
  }

  // -- moves ---------------------------------------------------------------------------------------------

  // Plays a legal move.
  push(op, id) {
    const { graph, flags } = this;
    const v = this.vertexOf(op, id), words = graph.weight(v), before = this.state[v];
    let after = before;
    if (op === LOAD) {
      after |= RED;
      this.loads += words;
    } else if (op === STORE) {
      after |= BLUE;
      if (!flags.deletion) after &= ~RED;
      this.stores += words;
    } else if (op === DELETE) {
      after &= ~RED;
    } else if (this.namesEdge(op, id)) {
      this.aggregated[id] = 1;
      this.done[v]++;
      after = (after | RED) & ~BLUE; // what is in slow memory is out of date
      if (this.done[v] === graph.inDegree(v)) {
        after |= COMPUTED;
        this.computes++;
      }
    } else {
      after |= RED | COMPUTED;
      this.computes++;
      if (before & COMPUTED) this.recomputes++;
    }
    this.codes.push(((id << 2) | op) >>> 0);
    this.undone.push(((this.slide + 1) << 3) | before);
    this.put(v, after);
    // Above M a slide must follow; without deletion one may, but only now.
    const mayFollow = op === COMPUTE && flags.sliding && (this.redWords > this.M || !flags.deletion);
    this.slide = mayFollow ? v : -1;
    this.history.red.push(Math.min(this.redWords, this.M));
    this.history.loads.push(this.loads);
    this.history.stores.push(this.stores);
  }

  // Takes back the last move and returns its code.
  pop() {
    const code = this.codes.pop(), undone = this.undone.pop();
    for (const series of Object.values(this.history)) series.pop();
    const op = code & 3, id = code >>> 2, v = this.vertexOf(op, id), before = undone & 7;
    if (op === LOAD) this.loads -= this.graph.weight(v);
    else if (op === STORE) this.stores -= this.graph.weight(v);
    else if (this.namesEdge(op, id)) {
      this.aggregated[id] = 0;
      this.done[v]--;
      if (this.state[v] & COMPUTED) this.computes--;
    } else if (op === COMPUTE) {
      this.computes--;
      if (before & COMPUTED) this.recomputes--;
    }
    this.put(v, before);
    this.slide = (undone >> 3) - 1;
    return code;
  }

  put(v, after) {
    const was = this.isDone(v);
    this.redWords += this.graph.weight(v) * ((after & RED) - (this.state[v] & RED));
    this.state[v] = after;
    if (this.graph.isOutput[v]) this.missing += Number(was) - Number(this.isDone(v));
  }

  text() {
    return moveTexts(this.codes).join(" ");
  }
}

function ioOf(flags, loads, stores) {
  return flags.loadCost * loads + flags.storeCost * stores;
}

function moveTexts(codes) {
  return codes.map((code) => LETTERS[code & 3] + (code >>> 2));
}
