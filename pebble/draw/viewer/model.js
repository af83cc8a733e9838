// What the page was given: numbers unpacked, and what can be asked about the graph.

const LOAD = 0, STORE = 1, COMPUTE = 2, DELETE = 3;
const LETTERS = "LSCD";
const OPERATIONS = ["load", "store", "compute", "delete"];

function unpack(text, Kind) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Kind(bytes.buffer);
}

function grouped(number) {
  return number.toLocaleString("en-US");
}

class Graph {
  constructor(given, data) {
    this.numVertices = given.numVertices;
    this.names = data.names;
    this.labels = data.labels;
    this.indptr = unpack(data.indptr, Int32Array);
    this.indices = unpack(data.indices, Int32Array);
    this.weights = data.weights;
    this.outputs = unpack(data.outputs, Int32Array);
    this.ops = data.ops === null ? null : unpack(data.ops, Uint8Array);
    this.opNames = data.opNames;
    this.isOutput = new Uint8Array(this.numVertices);
    for (const v of this.outputs) this.isOutput[v] = 1;
    this.numEdges = this.indices.length;
    this.heads = new Int32Array(this.numEdges); // per edge the vertex that it leads to
    this.successors = Array.from({ length: this.numVertices }, () => []);
    for (let v = 0; v < this.numVertices; v++) {
      this.heads.fill(v, this.indptr[v], this.indptr[v + 1]);
      for (const u of this.preds(v)) this.successors[u].push(v);
    }
  }

  preds(v) {
    return this.indices.subarray(this.indptr[v], this.indptr[v + 1]);
  }

  inDegree(v) {
    return this.indptr[v + 1] - this.indptr[v];
  }

  isSource(v) {
    return this.indptr[v] === this.indptr[v + 1];
  }

  weight(v) {
    return this.weights === null ? 1 : this.weights[v];
  }
}

function readLayout(data) {
  return {
    kind: data.kind,
    x: unpack(data.x, Float32Array),
    y: unpack(data.y, Float32Array),
    size: unpack(data.size, Float32Array),
    names: data.names,
    members: data.members,
    scale: data.scale,
    frames: data.frames,
    width: data.width,
    height: data.height,
    upward: data.upward,
  };
}

function readDocument() {
  const given = JSON.parse(document.getElementById("data").textContent);
  given.graph_ = given.graphData === null ? null : new Graph(given, given.graphData);
  given.layouts = given.layouts.map(readLayout);
  const schedule = given.schedule;
  if (schedule !== null) {
    schedule.codes = schedule.moves === null ? null : unpack(schedule.moves, Uint32Array);
    if (schedule.steps !== null) {
      schedule.steps.red = unpack(schedule.steps.red, Uint8Array);
      schedule.steps.blue = unpack(schedule.steps.blue, Uint8Array);
    }
  }
  return given;
}
