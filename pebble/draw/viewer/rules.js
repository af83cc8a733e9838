// The rules: what they forbid on a board and why, which move a click means, and how they read.

// The first reason that forbids a move, in the order of the rules, and the vertex to name; else null.
// Under partial rules the id of a compute is that of an edge.
function whyIllegal(board, op, id) {
  const { graph, flags, M } = board;
  const aggregates = op === COMPUTE && flags.partial;
  if (!aggregates && !(id >= 0 && id < graph.numVertices)) return { reason: "vertex out of range", vertex: id };
  const slides = op === DELETE && board.slide >= 0 && graph.preds(board.slide).includes(id);
  if (board.redWords > M && !(slides && board.redWords - graph.weight(id) <= M)) return { reason: "a slide is open", vertex: board.slide };
  if (aggregates) return whyNotAggregate(board, id);
  if (op === COMPUTE) return whyNotCompute(board, id);
  const state = board.state[id];
  if (op === DELETE && !flags.deletion && !slides) return { reason: "deletion is not allowed", vertex: id };
  if (op !== LOAD) return state & RED ? null : { reason: "not red", vertex: id };
  if (state & RED) return { reason: "already red", vertex: id };
  if (!(state & BLUE)) return { reason: "not blue", vertex: id };
  return whyNoRoom(board, id, 0);
}

function whyNotCompute(board, v) {
  const { graph, flags } = board, state = board.state[v];
  if (board.isGiven(v)) return { reason: "is a source", vertex: v };
  if (state & RED) return { reason: "already red", vertex: v };
  if (state & COMPUTED && !flags.recomputation) return { reason: "already computed", vertex: v };
  let bare = -1, heaviest = 0;
  for (const u of graph.preds(v)) {
    if (!(board.state[u] & RED) && (bare < 0 || u < bare)) bare = u;
    heaviest = Math.max(heaviest, graph.weight(u));
  }
  if (bare >= 0) return { reason: "a predecessor is not red", vertex: bare };
  return whyNoRoom(board, v, flags.sliding ? heaviest : 0);
}

function whyNotAggregate(board, e) {
  const { graph, flags } = board, v = board.vertexOf(COMPUTE, e);
  if (!board.namesEdge(COMPUTE, e) || e < 0) {
    const computes = flags.freeSources && v >= 0 && v < graph.numVertices && graph.isSource(v);
    return computes ? whyNotCompute(board, v) : { reason: "vertex out of range", vertex: e };
  }
  const u = graph.indices[e];
  if (board.aggregated[e]) return { reason: "already computed", vertex: v };
  if (!board.isComplete(u)) return { reason: "a predecessor is not complete", vertex: u };
  if (!(board.state[u] & RED)) return { reason: "a predecessor is not red", vertex: u };
  if (board.state[v] & RED) return null;
  if (board.done[v] > 0) return { reason: "its partial value is not red", vertex: v };
  return whyNoRoom(board, v, 0);
}

function whyNoRoom(board, v, takenOver) {
  const words = board.redWords + board.graph.weight(v) - takenOver;
  return words > board.M ? { reason: "no room", vertex: v } : null;
}

// The sentence that goes with a refusal.
function explain(board, op, id, problem) {
  const { graph, rules, M, redWords } = board;
  const named = (u, kind) => kind + u + (graph.labels === null || !(u in graph.labels) ? "" : ` (${graph.labels[u]})`);
  if (problem.reason === "vertex out of range") return outOfRange(board, op, id);
  const v = board.vertexOf(op, id), other = named(problem.vertex, "");
  const edge = board.namesEdge(op, id) ? `edge ${id}, ${graph.indices[id]} into ${v},` : "";
  switch (problem.reason) {
    case "a slide is open": {
      const over = redWords - M;
      return `the slide into ${other} is open: delete a predecessor of it${over > 1 ? ` of at least ${over} words` : ""} first`;
    }
    case "deletion is not allowed": return `${rules} rules allow no deletion: store ${named(v, "vertex ")} to make room`;
    case "is a source": return `${named(v, "vertex ")} is a source, it cannot be computed: load it`;
    case "already red": return `${named(v, "vertex ")} is already red`;
    case "already computed":
      if (edge) return `${edge} is already aggregated, ${rules} rules allow it once`;
      return `${named(v, "vertex ")} is already computed, ${rules} rules allow one computation each`;
    case "a predecessor is not complete": return `aggregating ${other} into ${named(v, "")} needs it complete`;
    case "a predecessor is not red": return `computing ${named(v, "")} needs predecessor ${other} red`;
    case "its partial value is not red": return `the partial value of ${named(v, "vertex ")} is not red: load it first`;
    case "not blue": return `${named(v, "vertex ")} is not blue, there is nothing to load`;
    case "not red": return `${named(v, "vertex ")} is not red, there is nothing to ${OPERATIONS[op]}`;
  }
  if (redWords >= M) return `all ${M} red words are in use`;
  return `${named(v, "vertex ")} takes ${graph.weight(v)} words, only ${M - redWords} of ${M} are free`;
}

function outOfRange(board, op, id) {
  const { graph, flags } = board;
  const ids = (count, kind) => (count ? `ids go from 0 to ${count - 1}` : `the graph has no ${kind}`);
  if (op !== COMPUTE || !flags.partial) return `vertex ${id} is out of range, ${ids(graph.numVertices, "vertices")}`;
  const sources = flags.freeSources ? `; ${graph.numEdges} + v computes a source v` : "";
  return `there is no edge ${id} to aggregate, ${ids(graph.numEdges, "edges")}${sources}`;
}

// -- clicks ----------------------------------------------------------------------------------------------

// What an operation on a vertex names: the vertex; under partial rules a compute names the first of its in-edges
// that can be aggregated now, else the first that is not yet.
function moveOn(board, op, v) {
  const { graph } = board;
  if (op !== COMPUTE || !board.flags.partial) return v;
  if (graph.isSource(v)) return graph.numEdges + v;
  let next = -1;
  for (let e = graph.indptr[v]; e < graph.indptr[v + 1]; e++) {
    if (board.aggregated[e]) continue;
    if (whyIllegal(board, op, e) === null) return e;
    if (next < 0) next = e;
  }
  return next < 0 ? graph.indptr[v] : next;
}

// Why an operation on a vertex is refused, or null. Under partial rules no move computes a source that is given.
function whyNotOn(board, op, v) {
  if (op === COMPUTE && board.flags.partial && board.isGiven(v)) return { reason: "is a source", vertex: v };
  return whyIllegal(board, op, moveOn(board, op, v));
}

// The operation that a click most likely means: what is free before what costs, and nothing that loses a value
// which is still to be completed or stored.
function likelyMove(board, v) {
  const state = board.state[v], allowed = (op) => whyNotOn(board, op, v) === null;
  if (!(state & RED)) return allowed(COMPUTE) || !(state & BLUE) ? COMPUTE : LOAD;
  if (board.share(v) > 0 && (allowed(COMPUTE) || !(state & BLUE))) return COMPUTE;
  if (board.graph.isOutput[v] && !(state & BLUE) && allowed(STORE)) return STORE;
  return board.flags.deletion || allowed(DELETE) ? DELETE : STORE;
}

// Whether an operation is part of the game at all: deletes are not, unless they may finish a slide.
function isOffered(flags, op) {
  return op !== DELETE || flags.deletion || flags.sliding;
}

// -- the rules in words ----------------------------------------------------------------------------------

// Pairs of a rule's name and what it says.
function rulesInWords(flags) {
  const cost = (io) => (io === 0 ? "nothing" : io === 1 ? "one I/O per word" : `${grouped(io)} I/Os per word`);
  const again = flags.recomputation ? "again as often as wanted" : "once";
  const lines = [["Load", `a blue vertex: it becomes red as well. This costs ${cost(flags.loadCost)}.`]];
  if (flags.partial) lines.push(["Compute", "a vertex by aggregating its predecessors one at a time, in any order, each once. The predecessor must be complete and red, and the vertex red as well unless it is the first one. The vertex becomes red, and is blue no more. A ring shows how many are done: once all are, the vertex is complete."]);
  else lines.push(["Compute", `a vertex whose predecessors are all red, ${again}: it becomes red.`]);
  if (flags.sliding) lines.push(["Slide", "Computing may take over a predecessor's red pebble: it may put one vertex too many in fast memory if the next move deletes a predecessor and makes room again."]);
  if (flags.freeSources) lines.push(["Sources", `are computed, ${again}, and need nothing; no vertex is blue at the start.`]);
  lines.push(["Store", `a red vertex: it becomes blue ${flags.deletion ? "as well" : "and is red no more"}. This costs ${cost(flags.storeCost)}.`]);
  if (flags.deletion) lines.push(["Delete", "a red pebble. This costs nothing."]);
  else lines.push(["No delete:", `only a store makes room${flags.sliding ? ", or a slide right after a compute" : ""}.`]);
  const computing = flags.computeCost ? `each compute is charged ${flags.computeCost} apart from the I/O` : "computing costs nothing";
  lines.push(["Memory:", `at most M words are red at once; ${computing}.`]);
  lines.push(["The end:", `every output is ${flags.partial ? "complete and " : ""}${flags.outputs === "any" ? "red or blue" : "blue"}.`]);
  return lines;
}
