// Two charts over time: words in fast memory, and I/O so far.

function niceStep(range, count) {
  const rough = Math.max(range / count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough);
}

function shortNumber(value) {
  if (value >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  return value >= 1e4 ? `${+(value / 1e3).toPrecision(3)}k` : grouped(value);
}

class Chart {
  constructor(canvas, title) {
    this.canvas = canvas;
    this.title = title;
    this.picture = document.createElement("canvas"); // all but the playhead
    this.key = "";
  }

  get plot() {
    return { left: 50, right: this.width - 8, top: 20, bottom: this.height - 30 };
  }

  // The time at a point of the canvas, as a share of the whole.
  share(x) {
    const { left, right } = this.plot;
    return Math.min(1, Math.max(0, (x - left) / (right - left)));
  }

  // data: {x: values or null for 0, 1, 2, …, length, series: [{label, values, colour, dash, width}], levels: [{value, label}]}
  draw(data, now, colours, version) {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const key = [box.width, box.height, ratio, version, colours.ink].join();
    if (key !== this.key) {
      this.key = key;
      [this.width, this.height] = [box.width, box.height];
      for (const canvas of [this.canvas, this.picture]) {
        canvas.width = Math.round(box.width * ratio);
        canvas.height = Math.round(box.height * ratio);
      }
      const g = this.picture.getContext("2d");
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.drawPicture(g, data, colours);
    }
    const g = this.canvas.getContext("2d");
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.picture, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { left, right, top, bottom } = this.plot;
    const x = left + (data.length ? now / data.length : 0) * (right - left);
    g.strokeStyle = colours.ink;
    g.lineWidth = 1.5;
    g.beginPath();
    g.moveTo(x, top - 4);
    g.lineTo(x, bottom);
    g.stroke();
  }

  drawPicture(g, data, colours) {
    const { left, right, top, bottom } = this.plot;
    g.clearRect(0, 0, this.width, this.height);
    let most = 1;
    for (const { values } of data.series) for (const value of values) if (value > most) most = value;
    for (const level of data.levels) if (level.value > most) most = level.value;
    most *= data.levels.length ? 1.22 : 1.06; // a level's label stands above its line
    const px = (t) => left + (data.length ? t / data.length : 0) * (right - left);
    const py = (value) => bottom - (value / most) * (bottom - top);
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colours.faint;
    g.strokeStyle = colours.line;
    g.lineWidth = 1;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (let value = 0; value <= most; value += niceStep(most, 3)) {
      g.beginPath();
      g.moveTo(left, Math.round(py(value)) + 0.5);
      g.lineTo(right, Math.round(py(value)) + 0.5);
      g.stroke();
      g.fillText(shortNumber(value), left - 6, py(value));
    }
    g.textBaseline = "top";
    for (let t = 0, step = niceStep(Math.max(1, data.length), 5); t <= data.length; t += step) {
      const text = shortNumber(t);
      g.textAlign = px(t) > right - g.measureText(text).width / 2 ? "right" : "center";
      g.fillText(text, px(t), bottom + 3);
    }
    g.textAlign = "center";
    g.fillText("moves", (left + right) / 2, bottom + 16);
    this.drawLegend(g, data, colours);
    for (const series of data.series) this.drawSeries(g, data, series, px, py);
    for (const level of data.levels) this.drawLevel(g, level, py(level.value), colours);
  }

  drawLevel(g, level, y, colours) {
    const { left, right } = this.plot;
    g.strokeStyle = colours.ink;
    g.lineWidth = 1;
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(left, y);
    g.lineTo(right, y);
    g.stroke();
    g.setLineDash([]);
    g.textAlign = "left";
    g.textBaseline = "bottom";
    g.lineJoin = "round";
    g.lineWidth = 4;
    g.strokeStyle = colours.paper;
    g.strokeText(level.label, left + 5, y - 1);
    g.fillStyle = colours.ink;
    g.fillText(level.label, left + 5, y - 1);
  }

  drawLegend(g, data, colours) {
    g.textBaseline = "alphabetic";
    g.textAlign = "left";
    g.fillStyle = colours.ink;
    g.font = "600 11.5px system-ui, sans-serif";
    g.fillText(this.title, 4, 12);
    g.font = "11px system-ui, sans-serif";
    if (data.series.length < 2) return;
    let x = this.width - 8;
    for (const series of [...data.series].reverse()) {
      x -= g.measureText(series.label).width;
      g.fillStyle = colours.faint;
      g.fillText(series.label, x, 12);
      x -= 26;
      g.strokeStyle = series.colour;
      g.lineWidth = series.width;
      g.setLineDash(series.dash);
      g.beginPath();
      g.moveTo(x, 8);
      g.lineTo(x + 21, 8);
      g.stroke();
      g.setLineDash([]);
      x -= 14;
    }
  }

  // A line in steps; where there are more values than pixels, each column spans what it holds.
  drawSeries(g, data, series, px, py) {
    const values = series.values;
    g.strokeStyle = series.colour;
    g.lineWidth = series.width;
    g.setLineDash(series.dash);
    g.beginPath();
    if (values.length > 2 * this.width) {
      let column = -1, low = 0, high = 0;
      for (let t = 0; t < values.length; t++) {
        const at = Math.floor(px(data.x === null ? t : data.x[t]));
        if (at !== column) {
          if (column >= 0) {
            g.lineTo(column, py(low));
            g.lineTo(column, py(high));
          }
          column = at;
          low = high = values[t];
        } else if (values[t] < low) low = values[t];
        else if (values[t] > high) high = values[t];
      }
      g.lineTo(column, py(high));
    } else {
      for (let t = 0; t < values.length; t++) {
        const x = px(data.x === null ? t : data.x[t]);
        if (t > 0 && data.x === null) g.lineTo(x, py(values[t - 1]));
        g.lineTo(x, py(values[t]));
      }
    }
    g.stroke();
    g.setLineDash([]);
  }
}
