// The board on its canvas: cells, pebbles, edges, pan and zoom.

const MOST_EDGES_DRAWN = 20000;

class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.backdrop = document.createElement("canvas"); // frames and edges, redrawn when the view moves
    this.backdropKey = "";
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colours = {};
    for (const name of ["red", "blue", "red-line", "blue-line", "paper", "panel", "ink", "faint", "line", "cell", "cell-edge", "output-edge", "edge", "past", "mark", "good", "ring"]) {
      this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
    this.backdropKey = "";
  }

  // The canvas gets as many pixels as the screen has; returns whether its size changed.
  resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const changed = this.width !== box.width || this.height !== box.height || this.ratio !== ratio;
    if (changed) {
      [this.width, this.height, this.ratio] = [box.width, box.height, ratio];
      for (const canvas of [this.canvas, this.backdrop]) {
        canvas.width = Math.max(1, Math.round(box.width * ratio));
        canvas.height = Math.max(1, Math.round(box.height * ratio));
      }
      this.backdropKey = "";
    }
    return changed;
  }

  fit(layout) {
    this.layout = layout;
    // Room for the buttons, the legend and names.
    const left = 22, right = 22, top = 44, bottom = 35 + byId("legend").offsetHeight;
    const across = Math.max(50, this.width - left - right), down = Math.max(50, this.height - top - bottom);
    this.scale = Math.min(across / layout.width, down / layout.height, 90);
    this.dx = left + (across - layout.width * this.scale) / 2;
    this.dy = top + (down - layout.height * this.scale) / 2;
    this.fitted = true;
  }

  zoom(factor, px, py) {
    const scale = Math.min(400, Math.max(0.5, this.scale * factor));
    this.dx = px - (px - this.dx) * (scale / this.scale);
    this.dy = py - (py - this.dy) * (scale / this.scale);
    this.scale = scale;
    this.fitted = false;
  }

  pan(dx, dy) {
    this.dx += dx;
    this.dy += dy;
    this.fitted = false;
  }

  px(c) {
    return this.layout.x[c] * this.scale + this.dx;
  }

  py(c) {
    return this.layout.y[c] * this.scale + this.dy;
  }

  // The cell under a point, the nearest within a few pixels where cells are small; -1 if none.
  cellAt(x, y) {
    let best = -1, nearest = Infinity;
    for (let c = 0; c < this.layout.x.length; c++) {
      const reach = Math.max((this.layout.size[c] * this.scale) / 2, 3);
      const distance = Math.max(Math.abs(this.px(c) - x), Math.abs(this.py(c) - y));
      if (distance <= reach && distance < nearest) [best, nearest] = [c, distance];
    }
    return best;
  }

  // scene: {graph, red(c), blue(c), past(c), share(v), aggregated: per edge | null, open: vertex or -1, hover, selected,
  // last: {op, vertex, from} | null, refused: {vertex, cause} | null}
  draw(scene) {
    const g = this.context;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.drawBackdrop(scene.graph);
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.backdrop, 0, 0);
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (scene.graph !== null) this.drawNearEdges(scene);
    this.drawPebbles(scene);
    this.drawShares(scene);
    this.drawMarks(scene);
    if (scene.graph !== null) this.drawNames(scene);
  }

  get round() {
    return this.layout.kind === "layers" && this.layout.names === null;
  }

  // Calls `visit(c, x, y, side)` for the cells in sight.
  eachCell(visit) {
    const { x, y, size } = this.layout;
    for (let c = 0; c < x.length; c++) {
      const side = size[c] * this.scale, reach = side / 2 + 2;
      const px = x[c] * this.scale + this.dx, py = y[c] * this.scale + this.dy;
      if (px < -reach || py < -reach || px > this.width + reach || py > this.height + reach) continue;
      visit(c, px, py, side);
    }
  }

  // Pebbles of one kind are one path, which is much faster than a path each.
  drawPebbles(scene) {
    const g = this.context, colours = this.colours;
    const reds = new Path2D(), blues = new Path2D(), rings = new Path2D(), pasts = new Path2D();
    const begun = { reds: new Path2D(), blues: new Path2D() }; // hollow: of values that are not complete
    const letters = [];
    const square = this.round ? 0.6 : 0.78;
    let ring = 1;
    this.eachCell((c, x, y, side) => {
      const red = scene.red(c), blue = scene.blue(c), hollow = scene.share(c) > 0;
      if (side < 4) {
        if (red > 0 || blue > 0) (red > 0 ? reds : blues).rect(x - side / 2, y - side / 2, side, side);
        return;
      }
      if (blue > 0) {
        const b = side * square * Math.sqrt(Math.max(blue, 0.06));
        (hollow ? begun.blues : blues).rect(x - b / 2, y - b / 2, b, b);
      }
      if (red > 0) {
        const r = side * (blue > 0 ? 0.22 : 0.31) * Math.sqrt(Math.max(red, 0.06));
        const path = hollow ? begun.reds : reds;
        path.moveTo(x + r, y);
        path.arc(x, y, r, 0, 7);
        if (blue > 0 && !hollow) {
          rings.moveTo(x + r, y);
          rings.arc(x, y, r, 0, 7);
          ring = Math.max(1, Math.min(2.5, side / 16));
        }
      } else if (blue === 0 && scene.past(c)) {
        const r = Math.max(1.2, side * 0.09);
        pasts.moveTo(x + r, y);
        pasts.arc(x, y, r, 0, 7);
      }
      if (scene.graph !== null && side >= 30 && (red > 0 || blue > 0)) letters.push([red > 0 ? "R" : "B", x, y, side * (blue > 0 && red > 0 ? 0.24 : 0.3), hollow]);
    });
    for (const [path, colour] of [[blues, colours.blue], [reds, colours.red], [pasts, colours.past]]) {
      g.fillStyle = colour;
      g.fill(path);
    }
    g.strokeStyle = colours.ring;
    g.lineWidth = ring;
    g.stroke(rings);
    g.lineWidth = Math.max(1.2, Math.min(3, this.scale / 22));
    for (const [path, colour] of [[begun.blues, colours["blue-line"]], [begun.reds, colours["red-line"]]]) {
      g.strokeStyle = colour;
      g.stroke(path);
    }
    g.textAlign = "center";
    g.textBaseline = "middle";
    for (const [letter, x, y, height, hollow] of letters) {
      g.fillStyle = hollow ? colours.ink : "#fff";
      g.font = `bold ${Math.round(height)}px system-ui, sans-serif`;
      g.fillText(letter, x, y + height * 0.06);
    }
  }

  // Around what is not complete yet, a ring that fills with the in-edges aggregated, clockwise from the top.
  drawShares(scene) {
    const g = this.context;
    this.eachCell((v, x, y, side) => {
      const share = scene.share(v);
      if (share === 0 || side < 4) return;
      g.lineWidth = Math.max(1.5, Math.min(5, side / 10));
      const half = (side - g.lineWidth) / 2;
      for (const [part, colour] of [[1, this.colours.line], [share, this.colours.good]]) {
        g.strokeStyle = colour;
        g.beginPath();
        if (this.round) g.arc(x, y, half, -Math.PI / 2, (2 * part - 0.5) * Math.PI);
        else squareArc(g, x, y, half, part);
        g.stroke();
      }
    });
  }

  // The places themselves, which do not change: outputs with a heavy edge.
  drawCells(g, graph) {
    const plain = new Path2D(), outputs = new Path2D();
    let heavy = 2;
    this.eachCell((c, x, y, side) => {
      const output = graph !== null && graph.isOutput[c];
      const path = output ? outputs : plain;
      if (output) heavy = Math.max(1, Math.min(3, side / 12));
      if (this.round) {
        path.moveTo(x + side / 2, y);
        path.arc(x, y, side / 2, 0, 7);
      } else path.rect(x - side / 2, y - side / 2, side, side);
    });
    for (const [path, colour, width] of [[plain, this.colours["cell-edge"], Math.min(1, this.scale / 8)], [outputs, this.colours["output-edge"], heavy]]) {
      g.fillStyle = this.colours.cell;
      g.fill(path);
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.stroke(path);
    }
  }

  drawBackdrop(graph) {
    const key = [this.layout.kind, this.scale, this.dx, this.dy, this.width, this.height].join();
    if (key === this.backdropKey) return;
    this.backdropKey = key;
    const g = this.backdrop.getContext("2d");
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    for (const frame of this.layout.frames) {
      const x = frame.x * this.scale + this.dx, y = frame.y * this.scale + this.dy;
      g.strokeStyle = this.colours.line;
      g.lineWidth = 1;
      g.strokeRect(x - 3, y - 3, frame.width * this.scale + 6, frame.height * this.scale + 6);
      const height = Math.min(13, Math.max(8, this.scale * 0.9));
      g.font = `600 ${height}px system-ui, sans-serif`;
      g.fillStyle = this.colours.faint;
      g.textBaseline = "bottom";
      g.textAlign = "left";
      // Without its shape where the title would run into the next one.
      const fits = g.measureText(frame.title).width <= (frame.width + 2.1) * this.scale;
      g.fillText(fits ? frame.title : frame.title.split(" ")[0], x - 3, y - 5);
    }
    if (graph !== null && this.layout.kind === "layers" && graph.indices.length <= MOST_EDGES_DRAWN) this.drawEdges(g, graph);
    this.drawCells(g, graph);
  }

  drawEdges(g, graph) {
    g.strokeStyle = this.colours.edge;
    g.lineWidth = Math.min(1.3, Math.max(0.4, this.scale / 30));
    g.globalAlpha = graph.indices.length > 3000 ? 0.35 : 0.8;
    for (let v = 0; v < graph.numVertices; v++) {
      for (const u of graph.preds(v)) this.edge(g, u, v, this.scale >= 24 && graph.indices.length <= 3000);
    }
    g.globalAlpha = 1;
  }

  // One edge, bent where it passes over other layers.
  edge(g, u, v, arrow) {
    const x0 = this.px(u), y0 = this.py(u), x1 = this.px(v), y1 = this.py(v);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const over = this.layout.upward ? Math.abs(y1 - y0) : Math.abs(x1 - x0);
    const bend = this.layout.kind === "layers" && over > 2.4 * this.scale ? Math.min(0.6 * this.scale, length * 0.08) : 0;
    const cx = (x0 + x1) / 2 - ((y1 - y0) / length) * bend, cy = (y0 + y1) / 2 + ((x1 - x0) / length) * bend;
    const reach = (this.layout.size[v] * this.scale) / 2;
    const last = Math.hypot(x1 - cx, y1 - cy) || 1;
    const ux = (x1 - cx) / last, uy = (y1 - cy) / last;
    const ex = x1 - ux * reach, ey = y1 - uy * reach;
    const start = Math.hypot(cx - x0, cy - y0) || 1, leave = (this.layout.size[u] * this.scale) / 2;
    g.beginPath();
    g.moveTo(x0 + ((cx - x0) / start) * leave, y0 + ((cy - y0) / start) * leave);
    if (bend) g.quadraticCurveTo(cx, cy, ex, ey);
    else g.lineTo(ex, ey);
    g.stroke();
    if (!arrow) return;
    // Half-way, where neither a name nor a vertex hides it.
    const head = Math.min(9, Math.max(5, this.scale / 6));
    const ax = bend ? (x0 + 2 * cx + ex) / 4 : (x0 + ex) / 2, ay = bend ? (y0 + 2 * cy + ey) / 4 : (y0 + ey) / 2;
    const whole = Math.hypot(ex - x0, ey - y0) || 1;
    const wx = (ex - x0) / whole, wy = (ey - y0) / whole;
    g.beginPath();
    g.moveTo(ax + wx * head * 0.5, ay + wy * head * 0.5);
    g.lineTo(ax - wx * head * 0.5 - wy * head * 0.42, ay - wy * head * 0.5 + wx * head * 0.42);
    g.lineTo(ax - wx * head * 0.5 + wy * head * 0.42, ay - wy * head * 0.5 - wx * head * 0.42);
    g.closePath();
    g.fillStyle = g.strokeStyle;
    g.fill();
  }

  // The edges of the vertex under the pointer, or of the one just computed.
  drawNearEdges(scene) {
    const g = this.context;
    const looked = scene.hover >= 0 ? scene.hover : scene.selected;
    const computed = scene.last !== null && scene.last.op === COMPUTE ? scene.last.vertex : -1;
    const v = looked >= 0 ? looked : scene.open >= 0 ? scene.open : computed;
    if (v < 0) return;
    if (looked >= 0 && scene.graph.successors[v].length <= 200) {
      g.strokeStyle = this.colours.faint;
      g.lineWidth = 1;
      g.setLineDash([4, 3]);
      for (const w of scene.graph.successors[v]) this.edge(g, v, w, true);
      g.setLineDash([]);
    }
    g.strokeStyle = this.colours.ink;
    g.lineWidth = 2;
    // Under partial rules dashed where the edge is still to be aggregated; of a move only its own edge.
    const first = scene.graph.indptr[v], only = looked >= 0 || scene.last === null ? -1 : scene.last.from;
    scene.graph.preds(v).forEach((u, i) => {
      if (only >= 0 && u !== only) return;
      g.setLineDash(scene.aggregated === null || scene.aggregated[first + i] ? [] : [5, 4]);
      this.edge(g, u, v, true);
    });
    g.setLineDash([]);
  }

  drawMarks(scene) {
    const g = this.context;
    const ring = (c, colour, width, dash) => {
      const half = Math.max(4, (this.layout.size[c] * this.scale) / 2) + width;
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.setLineDash(dash);
      g.beginPath();
      if (this.round) g.arc(this.px(c), this.py(c), half, 0, 7);
      else g.rect(this.px(c) - half, this.py(c) - half, 2 * half, 2 * half);
      g.stroke();
      g.setLineDash([]);
    };
    if (scene.open >= 0) {
      for (const u of scene.graph.preds(scene.open)) ring(u, this.colours.mark, 2.5, [3, 3]);
    }
    if (scene.hover >= 0) ring(scene.hover, this.colours.faint, 1.5, []);
    if (scene.selected >= 0) ring(scene.selected, this.colours.ink, 2, [5, 3]);
    if (scene.refused !== null) {
      ring(scene.refused.vertex, this.colours.mark, 3.5, []);
      if (scene.refused.cause !== scene.refused.vertex) ring(scene.refused.cause, this.colours.mark, 2.5, [3, 3]);
    }
    if (scene.last !== null && scene.last.vertex < this.layout.x.length) {
      const c = scene.last.vertex, half = Math.max(4, (this.layout.size[c] * this.scale) / 2);
      ring(c, this.colours.ink, 2, []);
      const clear = half * 0.85 + (half < 10 ? 6 : 0); // beside a small cell, not on it
      const bx = this.px(c) + clear, by = this.py(c) - clear;
      g.fillStyle = this.colours.ink;
      g.beginPath();
      g.arc(bx, by, 8, 0, 7);
      g.fill();
      g.fillStyle = this.colours.paper;
      g.font = "bold 11px system-ui, sans-serif";
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(LETTERS[scene.last.op], bx, by + 0.5);
    }
  }

  drawNames(scene) {
    if (this.layout.kind !== "layers" || this.scale < 30) return;
    const g = this.context;
    const height = Math.min(14, Math.max(10, this.scale * 0.24));
    g.font = `${height}px system-ui, sans-serif`;
    g.textAlign = "center";
    g.textBaseline = "top";
    g.lineJoin = "round";
    g.lineWidth = 4;
    g.strokeStyle = this.colours.paper;
    g.fillStyle = this.colours.ink;
    for (let c = 0; c < this.layout.x.length; c++) {
      const x = this.px(c), y = this.py(c) + (this.layout.size[c] * this.scale) / 2 + 3;
      if (x < 0 || y < -20 || x > this.width || y > this.height) continue;
      let name = scene.graph.names[c];
      const room = this.scale * 1.0 - 2;
      if (g.measureText(name).width > room) {
        while (name.length > 1 && g.measureText(name + "…").width > room) name = name.slice(0, -1);
        name += "…";
      }
      g.strokeText(name, x, y);
      g.fillText(name, x, y);
    }
  }
}

// Part of the outline of a square, clockwise from the middle of its top.
function squareArc(g, x, y, half, part) {
  const corners = [[1, -1], [1, 1], [-1, 1], [-1, -1], [0, -1]];
  let left = 8 * part, [px, py] = [0, -1]; // in halves of a side
  g.moveTo(x, y - half);
  for (const [cx, cy] of corners) {
    const length = Math.abs(cx - px) + Math.abs(cy - py), step = Math.min(1, left / length);
    g.lineTo(x + (px + (cx - px) * step) * half, y + (py + (cy - py) * step) * half);
    left -= length;
    if (left <= 0) return;
    [px, py] = [cx, cy];
  }
}
