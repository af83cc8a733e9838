// The reader's game as a schedule file that the command line reads; the graph travels with the moves.

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
  if (given.redAtStart.length) lines.splice(7, 0, `red_at_start: ${given.redAtStart.join(" ")}`);
  for (let v = 0; v < given.numVertices; v++) {
    for (const u of graph.preds(v)) lines.push(`${u} ${v}`);
  }
  if (graph.weights !== null) lines.push("weights", ...chunks(graph.weights));
  const further = Array.from(graph.outputs).filter((v) => graph.successors[v].length > 0);
  if (further.length) lines.push("outputs", ...chunks(further));
  if (graph.labels !== null) lines.push("labels", JSON.stringify(graph.labels));
  lines.push("moves", ...chunks(moveTexts(board.codes)), "end", "");
  return lines.join("\n");
}

function chunks(values) {
  const lines = [];
  for (let i = 0; i < values.length; i += 20) lines.push(Array.from(values.slice(i, i + 20)).join(" "));
  return lines;
}
