// For the console and for tests: the page's state, and its moves in text form.
window.pebbling = {
  state() {
    const f = player.figures;
    return { mode: player.mode, t: player.watching ? player.recording.t : player.own.length, io: f.io, loads: f.loads, stores: f.stores, computes: f.computes, recomputes: f.recomputes, red: f.redWords, over: player.board === null ? null : player.board.isOver };
  },
  // The vertices that are red, blue and computed, the edges aggregated, and the vertex of an open slide or -1.
  position() {
    const { state, aggregated, openSlide } = player.board;
    const those = (marks, bit) => Array.from(marks.keys()).filter((i) => marks[i] & bit);
    return { red: those(state, RED), blue: those(state, BLUE), computed: those(state, COMPUTED), aggregated: those(aggregated, 1), slide: openSlide };
  },
  // "" if the move was played, else why not.
  play(text) {
    const op = LETTERS.indexOf(text[0]), id = Number(text.slice(1));
    const problem = player.tryMove(op, id);
    show();
    return problem === null ? "" : `${problem.reason}: ${explain(player.own, op, id, problem)}`;
  },
  moves: () => (player.board === null ? "" : player.board.text()),
  file: () => scheduleFile(given, player.own),
  // Where a cell is in the window.
  at(c) {
    const box = painter.canvas.getBoundingClientRect();
    return [box.left + painter.px(c), box.top + painter.py(c)];
  },
};
