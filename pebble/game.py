"""Game: the board for people. Plain Python, written from the rules alone; the referee knows nothing of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pebble.aggregates import aggregate_of
from pebble.errors import FormatError, PebbleError
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason
from pebble.position_text import parse_position, position_text
from pebble.refusals import refusal
from pebble.result import Cost
from pebble.schedule import Schedule

__all__ = ["Game"]


@dataclass(slots=True)
class _Tally:
    """What changes with every move and is put back whole by `pop`."""

    loads: int
    stores: int
    computes: int
    recomputes: int
    red_words: int
    peak_red: int
    # The vertex that the last move computed, where deleting a predecessor would now be a slide.
    slide: int | None

    def copy(self) -> _Tally:
        """Another one like it; written out, since `dataclasses.replace` takes four times as long."""
        return _Tally(
            self.loads,
            self.stores,
            self.computes,
            self.recomputes,
            self.red_words,
            self.peak_red,
            self.slide,
        )


class Game:
    """One game in progress: pebbles on vertices, moves pushed and popped.

    Parameters
    ----------
    instance : Instance

    Notes
    -----
    A move costs a few microseconds. For schedules of millions of moves use `pebble.verify`, which is
    compiled; the two agree on every move, reasons included.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> game = Game(Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3))
    >>> for move in ["L0", "L1", "C2", "S2"]:
    ...     game.push(move)
    >>> str(game), game.io, game.is_over
    ('red:0-2 blue:0-2', 3, True)
    >>> str(game.pop()), str(game)
    ('S2', 'red:0-2 blue:0,1')
    >>> game.push("L0")
    Traceback (most recent call last):
    ...
    pebble.errors.IllegalMoveError: move 3 (L0): vertex 0 is already red
    """

    def __init__(self, instance: Instance) -> None:
        cdag, rules = instance.cdag, instance.rules
        self.instance = instance
        # Vertices that are blue at the start and never computed.
        self._given = frozenset() if rules.free_sources else frozenset(cdag.sources.tolist())
        self._red: set[int] = set(instance.red_at_start)
        self._blue: set[int] = set(self._given)
        # Under partial rules: the complete ones, and per edge whether it is aggregated.
        self._computed: set[int] = self._red - self._given
        self._aggregated: set[int] = set()
        if rules.partial:
            self._aggregated.update(e for v in self._computed for e in self._in_edges(v))
        self._missing: set[int] = {v for v in cdag.outputs.tolist() if not self._is_done(v)}
        self._tally = _Tally(0, 0, 0, 0, 0, 0, None)
        self._tally.red_words = self._tally.peak_red = sum(map(cdag.weight, self._red))
        self._moves: list[Move] = []
        # Per move: the vertex it was about, what was on that before, and the tally before.
        self._undo: list[tuple[int, bool, bool, bool, _Tally]] = []
        self._from_start = True

    @classmethod
    def at(cls, instance: Instance, position: str) -> Game:
        """A game that starts at a position, in the text form that `str(game)` gives.

        Parameters
        ----------
        instance : Instance
        position : str
            ``red:1,3,4 blue:0-3``; ``computed:`` for vertices computed before that carry no pebble;
            under partial rules ``aggregated:`` for the in-edges that incomplete vertices have aggregated;
            under sliding ``slide:`` for the vertex just computed whose slide is to be finished.

        Raises
        ------
        FormatError
            The text is malformed, a vertex is out of range, a source is not blue, or more than M words
            are red.

        Examples
        --------
        >>> from pebble.cdag import CDAG
        >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
        >>> [str(m) for m in Game.at(inst, "red:0,1 blue:0,1").legal_moves()]
        ['S0', 'S1', 'C2', 'D0', 'D1']
        """
        cdag, rules = instance.cdag, instance.rules
        parts = parse_position(position, cdag, rules)
        game = cls(instance)
        bare = sorted(game._given - parts["blue"])
        if bare:
            raise FormatError("position", f"source {bare[0]} is not blue: a blue pebble is never removed")
        game._red, game._blue = parts["red"], parts["blue"]
        started = {aggregate_of(cdag, e)[1] for e in parts["aggregated"]}
        incomplete = {v for v in started if not parts["aggregated"].issuperset(game._in_edges(v))}
        known = parts["red"] | parts["blue"] | parts["computed"] | started
        game._computed = known - game._given - incomplete
        if rules.partial:
            complete = {e for v in game._computed for e in game._in_edges(v)}
            game._aggregated = complete | parts["aggregated"]
        game._missing = {v for v in cdag.outputs.tolist() if not game._is_done(v)}
        slide = min(parts["slide"], default=None)
        words = sum(map(cdag.weight, game._red))
        if words > instance.M and (slide is None or not game._is_slid(slide, words)):
            raise FormatError("position", f"{words} words are red, M={instance.M}")
        peak = min(words, instance.M)
        game._tally = _Tally(0, 0, 0, 0, words, peak, slide)
        game._from_start = False
        return game

    def _in_edges(self, v: int) -> range:
        indptr = self.instance.cdag.indptr
        return range(int(indptr[v]), int(indptr[v + 1]))

    def _is_done(self, v: int) -> bool:
        """Whether output `v` carries what it must carry at the end."""
        if v in self._given:
            return True
        held = v in self._blue or (self.instance.rules.outputs == "any" and v in self._red)
        return held and v in self._computed

    def _is_slid(self, v: int, words: int) -> bool:
        """Whether deleting one predecessor of `v` would bring the red words down to M."""
        cdag = self.instance.cdag
        preds = cdag.preds(v).tolist()
        return (
            v in self._red
            and self._red.issuperset(preds)
            and any(words - cdag.weight(u) <= self.instance.M for u in preds)
        )

    # -- moves ----------------------------------------------------------------------------------------

    def push(self, move: Move | str) -> None:
        """Play one move, checked.

        Parameters
        ----------
        move : Move or str
            ``"L3"`` loads vertex 3, ``S`` stores, ``C`` computes, ``D`` deletes.

        Raises
        ------
        IllegalMoveError
            The rules forbid it; the game is unchanged.
        ValueError
            The text is no move.
        """
        move = _as_move(move)
        problem = self.why_illegal(move)
        if problem is not None:
            reason, vertices = problem
            raise refusal(self.instance, len(self._moves), move, reason, vertices, self.red_words)
        self.push_unchecked(move)

    def push_unchecked(self, move: Move) -> None:
        """Play a move known to be legal, such as one of `legal_moves`; an illegal one corrupts the game."""
        op, v = move
        rules = self.instance.rules
        old = self._tally
        new = old.copy()
        edge = None
        if op == Op.COMPUTE and rules.partial:
            edge = v
            u, v = aggregate_of(self.instance.cdag, edge)
            edge = edge if u >= 0 else None
        weight = self.instance.cdag.weight(v)
        self._undo.append((v, v in self._red, v in self._blue, v in self._computed, old))
        new.slide = None
        if op == Op.STORE:
            self._blue.add(v)
            new.stores += weight
            if not rules.deletion:
                self._red.remove(v)
                new.red_words -= weight
        elif op == Op.DELETE:
            self._red.remove(v)
            new.red_words -= weight
        else:
            if v not in self._red:
                self._red.add(v)
                new.red_words += weight
            if op == Op.LOAD:
                new.loads += weight
            elif edge is None:
                new.computes += 1
                new.recomputes += v in self._computed
                self._computed.add(v)
                # A slide may follow: it must if M is exceeded, and without deletion only now it may.
                if rules.sliding and (new.red_words > self.instance.M or not rules.deletion):
                    new.slide = v
            else:
                self._aggregated.add(edge)
                self._blue.discard(v)
                if self._aggregated.issuperset(self._in_edges(v)):
                    self._computed.add(v)
                    new.computes += 1
        if new.red_words <= self.instance.M:
            new.peak_red = max(old.peak_red, new.red_words)
        self._tally = new
        self._moves.append(move)
        self._note_output(v)

    def pop(self) -> Move:
        """Take back the last move and return it; IndexError if there is none."""
        if not self._moves:
            raise IndexError("no move to take back")
        move = self._moves.pop()
        v, red, blue, computed, self._tally = self._undo.pop()
        for pebbles, had in ((self._red, red), (self._blue, blue), (self._computed, computed)):
            if had:
                pebbles.add(v)
            else:
                pebbles.discard(v)
        if move.op == Op.COMPUTE and self.instance.rules.partial:
            self._aggregated.discard(move.vertex)
        self._note_output(v)
        return move

    def _note_output(self, v: int) -> None:
        if self.instance.cdag.is_output[v]:
            if self._is_done(v):
                self._missing.discard(v)
            else:
                self._missing.add(v)

    def why_illegal(self, move: Move | str) -> tuple[Reason, tuple[int, ...]] | None:
        """Why the rules forbid a move now, or None if they allow it.

        Returns
        -------
        (Reason, tuple of int) or None
            The first reason that holds in the order of `Reason`, and the vertices it names: the missing
            predecessor of lowest id, else the move's vertex.
        """
        move = _as_move(move)
        op, v = move
        cdag, rules, M = self.instance.cdag, self.instance.rules, self.instance.M
        words = self._tally.red_words
        if not 0 <= v < cdag.num_vertices and not (op == Op.COMPUTE and rules.partial):
            return Reason.OUT_OF_RANGE, (v,)
        slide = self._tally.slide
        slides = op == Op.DELETE and slide is not None and v in cdag.preds(slide).tolist()
        if words > M and not (slides and words - cdag.weight(v) <= M):
            assert slide is not None
            return Reason.SLIDE_OPEN, (slide,)
        is_red = v in self._red
        if op == Op.STORE or op == Op.DELETE:
            if op == Op.DELETE and not rules.deletion and not slides:
                return Reason.NO_DELETION, (v,)
            return None if is_red else (Reason.NOT_RED, (v,))
        if op == Op.COMPUTE:
            return self._why_not_aggregate(v) if rules.partial else self._why_not_compute(v)
        if is_red:
            return Reason.ALREADY_RED, (v,)
        if v not in self._blue:
            return Reason.NOT_BLUE, (v,)
        return None if words + cdag.weight(v) <= M else (Reason.NO_ROOM, (v,))

    def _why_not_compute(self, v: int) -> tuple[Reason, tuple[int, ...]] | None:
        cdag, rules = self.instance.cdag, self.instance.rules
        preds = cdag.preds(v).tolist()
        if v in self._given:
            return Reason.IS_SOURCE, (v,)
        if v in self._red:
            return Reason.ALREADY_RED, (v,)
        if v in self._computed and not rules.recomputation:
            return Reason.ALREADY_COMPUTED, (v,)
        bare = [u for u in preds if u not in self._red]
        if bare:
            return Reason.PREDECESSOR_NOT_RED, (min(bare),)
        words = self._tally.red_words + cdag.weight(v)
        taken_over = max(map(cdag.weight, preds)) if rules.sliding and preds else 0
        return None if words - taken_over <= self.instance.M else (Reason.NO_ROOM, (v,))

    def _why_not_aggregate(self, e: int) -> tuple[Reason, tuple[int, ...]] | None:
        cdag = self.instance.cdag
        u, v = aggregate_of(cdag, e) if e >= 0 else (-1, -1)
        if u < 0:
            if not self.instance.rules.free_sources or not 0 <= v < cdag.num_vertices or len(cdag.preds(v)):
                return Reason.OUT_OF_RANGE, (e,)
            return self._why_not_compute(v)
        if e in self._aggregated:
            return Reason.ALREADY_COMPUTED, (v,)
        if u not in self._computed and u not in self._given:
            return Reason.PREDECESSOR_INCOMPLETE, (u,)
        if u not in self._red:
            return Reason.PREDECESSOR_NOT_RED, (u,)
        if v in self._red:
            return None
        if not self._aggregated.isdisjoint(self._in_edges(v)):
            return Reason.PARTIAL_NOT_RED, (v,)
        room = self._tally.red_words + cdag.weight(v) <= self.instance.M
        return None if room else (Reason.NO_ROOM, (v,))

    def legal_moves(self) -> list[Move]:
        """Every legal move: loads, then stores, computes and deletes, each by ascending vertex.

        O(blue vertices + successors of red vertices) per call.
        """
        cdag = self.instance.cdag
        red = sorted(self._red)
        # A vertex that can be computed has a red predecessor, or is a source that is not given.
        near = {int(w) for v in red for w in cdag.succs(v)}
        near |= set(cdag.sources.tolist()) - self._given
        computes = sorted(near)
        if self.instance.rules.partial:
            edges = [e for v in computes for e in self._in_edges(v) or [cdag.num_edges + v]]
            computes = sorted(edges)
        tries = [Move(Op.LOAD, v) for v in sorted(self._blue - self._red)]
        tries += [Move(Op.STORE, v) for v in red]
        tries += [Move(Op.COMPUTE, v) for v in computes]
        tries += [Move(Op.DELETE, v) for v in red]
        return [move for move in tries if self.why_illegal(move) is None]

    # -- the position ---------------------------------------------------------------------------------

    @property
    def red(self) -> frozenset[int]:
        """The red vertices, as they are now; O(their number), see `is_red` for one."""
        return frozenset(self._red)

    @property
    def blue(self) -> frozenset[int]:
        """The blue vertices, as they are now; O(their number), see `is_blue` for one."""
        return frozenset(self._blue)

    @property
    def computed(self) -> frozenset[int]:
        """The vertices computed at least once; under partial rules, the complete ones."""
        return frozenset(self._computed)

    @property
    def aggregated(self) -> frozenset[int]:
        """Under partial rules, the edges aggregated so far (`pebble.aggregates`)."""
        return frozenset(self._aggregated)

    @property
    def open_slide(self) -> int | None:
        """The vertex computed by the last move, if M is exceeded until one of its predecessors is deleted."""
        return self._tally.slide if self._tally.red_words > self.instance.M else None

    def is_red(self, v: int) -> bool:
        """Whether `v` is red."""
        return v in self._red

    def is_blue(self, v: int) -> bool:
        """Whether `v` is blue."""
        return v in self._blue

    @property
    def red_words(self) -> int:
        """Words of fast memory in use."""
        return self._tally.red_words

    @property
    def io(self) -> int:
        """I/O cost so far, in words; in I/Os where the rules set the cost of a word."""
        return self.cost.io

    @property
    def cost(self) -> Cost:
        """Everything counted so far."""
        now, rules = self._tally, self.instance.rules
        return Cost(
            now.loads,
            now.stores,
            now.computes,
            now.recomputes,
            now.peak_red,
            rules.load_cost,
            rules.store_cost,
            rules.compute_cost,
        )

    @property
    def is_over(self) -> bool:
        """Whether every output carries its pebble, and no slide is open."""
        return not self._missing and self.open_slide is None

    @property
    def missing_outputs(self) -> list[int]:
        """The outputs that do not carry yet what they must end with, ascending."""
        return sorted(self._missing)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves played so far."""
        return tuple(self._moves)

    def schedule(self, producer: str = "game", **fields: Any) -> Schedule:
        """The moves so far as a Schedule; PebbleError if the game began at a position of its own."""
        if not self._from_start:
            raise PebbleError("this game began in the middle: its moves are no schedule of the instance")
        fields.setdefault("claim", self.io)
        return Schedule.from_moves(self.instance, self._moves, producer=producer, **fields)

    def __len__(self) -> int:
        return len(self._moves)

    def __str__(self) -> str:
        incomplete: list[int] = []
        if self.instance.rules.partial:
            cdag = self.instance.cdag
            incomplete = [e for e in self._aggregated if aggregate_of(cdag, e)[1] not in self._computed]
        return position_text(
            red=self._red,
            blue=self._blue,
            computed=self._computed - self._red - self._blue,
            aggregated=incomplete,
            slide=[] if self._tally.slide is None else [self._tally.slide],
        )

    def __repr__(self) -> str:
        return f"<Game {self}, {len(self)} moves, I/O {self.io}, on {self.instance!r}>"

    def _repr_svg_(self) -> str | None:
        """The position as notebooks show it; None, for the text, where the graph is too large."""
        from pebble.draw.position import Position
        from pebble.draw.svg import MOST_LAID_OUT, position_svg

        cdag = self.instance.cdag
        if cdag.num_vertices > MOST_LAID_OUT:
            return None
        aggregated = self._aggregated if self.instance.rules.partial else None
        return position_svg(cdag, Position.of(cdag, self._red, self._blue, self._computed, aggregated))


def _as_move(move: Move | str) -> Move:
    return Move.parse(move) if isinstance(move, str) else move
