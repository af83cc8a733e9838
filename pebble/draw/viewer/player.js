// What is shown and when: the schedule being watched, and the reader's own game.

// A schedule that is watched move by move.
class Recording {
  constructor(given) {
    this.codes = given.schedule.codes;
    this.board = new Board(given);
    for (const code of this.codes) this.board.push(code & 3, code >>> 2);
    this.history = {};
    for (const [name, series] of Object.entries(this.board.history)) this.history[name] = series.slice();
    this.length = this.codes.length;
    this.seek(0);
  }

  get t() {
    return this.board.length;
  }

  seek(t) {
    while (this.board.length > t) this.board.pop();
    while (this.board.length < t) {
      const code = this.codes[this.board.length];
      this.board.push(code & 3, code >>> 2);
    }
  }

  get moves() {
    return this.t;
  }

  get figures() {
    return this.board;
  }

  last() {
    return this.t ? this.board.moveAt(this.t - 1) : null;
  }

  chart() {
    return { x: null, length: this.length, ...this.history };
  }
}

// A long one, watched in steps of many moves.
class SteppedRecording {
  constructor(given) {
    this.flags = given.flags;
    this.steps = given.schedule.steps;
    this.length = this.steps.ends.length - 1;
    this.cells = this.steps.red.length / (this.length + 1);
    this.board = null;
    this.t = 0;
  }

  seek(t) {
    this.t = t;
  }

  get moves() {
    return this.steps.ends[this.t];
  }

  get figures() {
    const { loads, stores, computes, recomputes, peak } = this.steps;
    const t = this.t;
    return { io: ioOf(this.flags, loads[t], stores[t]), loads: loads[t], stores: stores[t], computes: computes[t], recomputes: recomputes[t], redWords: peak[t] };
  }

  level(colour, c) {
    return this.steps[colour][this.t * this.cells + c] / 255;
  }

  last() {
    return null;
  }

  chart() {
    const { ends, peak, loads, stores } = this.steps;
    return { x: ends, length: ends[this.length], red: peak, loads, stores };
  }
}

class Player {
  constructor(given) {
    this.given = given;
    this.graph = given.graph_;
    const schedule = given.schedule;
    this.recording = schedule === null ? null : schedule.codes === null ? new SteppedRecording(given) : new Recording(given);
    this.own = this.graph === null ? null : new Board(given);
    this.mode = given.opening;
    this.layoutIndex = 0;
    this.tool = "auto";
    this.hover = this.selected = -1;
    this.refused = null;
    this.said = ["", ""];
    this.playing = false;
    this.speed = this.defaultSpeed();
    this.version = 0; // rises whenever the reader's own game changes
  }

  get layout() {
    return this.given.layouts[this.layoutIndex];
  }

  get watching() {
    return this.mode === "watch";
  }

  get board() {
    return this.watching ? this.recording.board : this.own;
  }

  get figures() {
    return this.watching ? this.recording.figures : this.own;
  }

  defaultSpeed() {
    if (this.recording === null) return 4;
    return SPEEDS.find((speed) => speed * 40 >= this.recording.length) || SPEEDS[SPEEDS.length - 1];
  }

  setMode(mode) {
    if (mode === "watch" ? this.recording === null : this.own === null) return;
    this.mode = mode;
    this.playing = false;
    this.refused = null;
    this.selected = -1;
    this.say(mode === "play" ? this.standing() : "", "");
  }

  say(text, kind) {
    this.said = [text, kind];
  }

  // -- watching ------------------------------------------------------------------------------------------

  seek(t) {
    this.recording.seek(Math.min(this.recording.length, Math.max(0, Math.round(t))));
    if (this.recording.t === this.recording.length) this.playing = false;
    this.describe();
  }

  describe() {
    const last = this.recording.last();
    const t = this.recording.t;
    if (t === 0) this.say(`The start: ${this.startText()}.`, "");
    else if (last !== null) {
      const open = this.recording.board.openSlide >= 0 ? " A predecessor's pebble slides: the next move deletes it." : "";
      this.say(`Move ${grouped(t)}: ${OPERATIONS[last.op]} ${moveText(this.graph, last)}, ${costText(this.given.flags, this.graph, last)}.${open}`, "");
    } else this.say(`After ${grouped(this.recording.moves)} moves, step ${grouped(t)} of ${grouped(this.recording.length)}.`, "");
    if (t === this.recording.length && this.given.schedule.cost !== null) {
      this.say(`Done: ${ioText(this.given.flags, this.recording.figures.io)}, as the referee counts.`, "done");
    }
  }

  startText() {
    const { flags, redAtStart } = this.given;
    const red = this.graph === null || !redAtStart.length ? "" : `; red: ${listed(this.graph, redAtStart)}`;
    return (flags.freeSources ? "nothing is blue" : "every source is blue") + red;
  }

  togglePlay() {
    if (!this.playing && this.recording.t === this.recording.length) this.seek(0);
    this.playing = !this.playing;
    this.carry = 0;
  }

  // Goes on by the time that has passed; returns whether anything changed.
  advance(seconds) {
    if (!this.playing || !this.watching) return false;
    this.carry += seconds * this.speed;
    const steps = Math.floor(this.carry);
    if (steps === 0) return false;
    this.carry -= steps;
    this.seek(this.recording.t + steps);
    return true;
  }

  // -- playing -------------------------------------------------------------------------------------------

  takeOver() {
    this.own.reset();
    for (let t = 0; t < this.recording.t; t++) {
      const code = this.recording.codes[t];
      this.own.push(code & 3, code >>> 2);
    }
    this.version++;
    this.setMode("play");
  }

  moveFor(v) {
    return this.tool === "auto" ? likelyMove(this.own, v) : this.tool;
  }

  // Plays an operation on a vertex, as clicks and keys mean it.
  tryOn(op, v) {
    return this.tryMove(op, moveOn(this.own, op, v), whyNotOn(this.own, op, v));
  }

  // Plays a move of the reader's game; returns null, or why it is refused.
  tryMove(op, id, problem = whyIllegal(this.own, op, id)) {
    if (problem !== null) {
      const known = problem.reason !== "vertex out of range";
      this.refused = known ? { vertex: this.own.vertexOf(op, id), cause: problem.vertex, reason: problem.reason } : null;
      this.say(`Refused, ${problem.reason}: ${explain(this.own, op, id, problem)}.${known ? this.nameOf(problem.vertex) : ""}`, "refused");
      return problem;
    }
    this.own.push(op, id);
    this.refused = null;
    this.version++;
    const move = this.own.moveAt(this.own.length - 1);
    const cost = op === LOAD || op === STORE ? `, ${costText(this.given.flags, this.graph, move)}` : "";
    this.say(`${OPERATIONS[op]} ${moveText(this.graph, move)}${cost}. ${this.standing()}`, this.own.isOver ? "done" : "");
    return null;
  }

  // The name of a vertex that a refusal gives by its number.
  nameOf(v) {
    const name = this.graph.names[v];
    return name === `v${v}` || this.graph.labels !== null ? "" : ` Vertex ${v} is ${name}.`;
  }

  undo() {
    if (!this.own.length) return this.say("There is no move to take back.", "");
    const code = this.own.pop();
    this.refused = null;
    this.version++;
    const move = this.own.read(code);
    this.say(`Took back ${OPERATIONS[move.op]} ${moveText(this.graph, move)}.`, "");
  }

  restart() {
    this.own.reset();
    this.refused = null;
    this.version++;
    this.say(this.standing(), "");
  }

  // How the reader's game stands against what is known.
  standing() {
    const own = this.own, { optimum, best, bound } = this.given.reference, { flags } = this.given;
    if (own.openSlide >= 0) return `Now delete a predecessor of ${this.graph.names[own.openSlide]}: its pebble slides.`;
    if (!own.isOver) {
      const first = Array.from(this.graph.outputs).find((v) => !own.isDone(v));
      const end = flags.outputs === "any" ? "be red or blue in the end" : "become blue";
      return own.missing === 1 ? `To do: ${this.graph.names[first]} must ${end}.` : `To do: ${grouped(own.missing)} outputs must ${end}.`;
    }
    const io = own.io, spent = ioText(flags, io);
    if (optimum !== null) {
      if (io === optimum) return `Done with ${spent}: that is the optimum.`;
      return `Done with ${spent}; the optimum is ${grouped(optimum)}.`;
    }
    if (bound !== null && io === bound) return `Done with ${spent}: no schedule can do with less.`;
    if (best !== null && io < best) return `Done with ${spent}: better than the best known, ${grouped(best)}.`;
    if (best !== null) return `Done with ${spent}; the best known is ${grouped(best)}.`;
    return `Done with ${spent}.`;
  }

  // The nearest cell in a direction, for the arrow keys.
  neighbour(dx, dy) {
    const { x, y } = this.layout;
    if (this.selected < 0) return 0;
    let best = this.selected, nearest = Infinity;
    for (let c = 0; c < x.length; c++) {
      const along = (x[c] - x[this.selected]) * dx + (y[c] - y[this.selected]) * dy;
      const aside = Math.abs((x[c] - x[this.selected]) * dy) + Math.abs((y[c] - y[this.selected]) * dx);
      if (along > 0.05 && along + 2 * aside < nearest) [best, nearest] = [c, along + 2 * aside];
    }
    return best;
  }

  // -- what the painter asks -----------------------------------------------------------------------------

  scene() {
    const board = this.board;
    const stepped = this.watching && board === null;
    const recording = this.recording;
    return {
      graph: this.graph,
      red: stepped ? (c) => recording.level("red", c) : (v) => board.state[v] & RED,
      blue: stepped ? (c) => recording.level("blue", c) : (v) => (board.state[v] & BLUE ? 1 : 0),
      past: stepped ? () => false : (v) => board.state[v] & COMPUTED,
      share: stepped ? () => 0 : (v) => board.share(v),
      aggregated: stepped || !board.flags.partial ? null : board.aggregated,
      open: stepped ? -1 : board.openSlide,
      hover: this.hover,
      selected: this.selected,
      last: this.watching ? recording.last() : this.own.length ? this.own.moveAt(this.own.length - 1) : null,
      refused: this.watching ? null : this.refused,
    };
  }
}

const SPEEDS = [1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1000, 2500, 5000];
