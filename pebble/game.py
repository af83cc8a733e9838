"""Game: the board for people. Plain Python, written from the rules alone; the referee knows nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pebble.errors import FormatError, PebbleError
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason
from pebble.refusals import refusal
from pebble.result import Cost
from pebble.schedule import Schedule

__all__ = ["Game"]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")


class Game:
    """One game in progress: pebbles on vertices, moves pushed and popped.

    Parameters
    ----------
    instance : Instance

    Notes
    -----
    A move costs about a microsecond. For schedules of millions of moves use `pebble.verify`, which is
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
        cdag = instance.cdag
        self.instance = instance
        self._red: set[int] = set()
        self._blue: set[int] = set(cdag.sources.tolist())
        self._computed: set[int] = set()
        self._missing: set[int] = set(cdag.outputs.tolist()) - self._blue
        self._red_words = 0
        self._peak_red = 0
        self._loads = self._stores = self._computes = self._recomputes = 0
        self._moves: list[Move] = []
        # Per move: whether it put something new (STORE: a blue pebble, COMPUTE: a first value), and the
        # peak before it. With the move itself this is all that `pop` needs.
        self._undo: list[tuple[bool, int]] = []
        self._from_start = True

    @classmethod
    def at(cls, instance: Instance, position: str) -> Game:
        """A game that starts at a position, in the text form that `str(game)` gives.

        Parameters
        ----------
        instance : Instance
        position : str
            ``red:1,3,4 blue:0-3``, and ``computed:`` for vertices computed before that carry no pebble.

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
        parts = _parse_position(position, instance.cdag.num_vertices)
        game = cls(instance)
        bare = sorted(game._blue - parts["blue"])
        if bare:
            raise FormatError("position", f"source {bare[0]} is not blue: a blue pebble is never removed")
        sources = game._blue
        game._red, game._blue = parts["red"], parts["blue"]
        game._computed = set().union(*parts.values()) - sources
        game._missing -= game._blue
        game._red_words = game._peak_red = sum(map(instance.cdag.weight, game._red))
        if game._red_words > instance.M:
            raise FormatError("position", f"{game._red_words} words are red, M={instance.M}")
        game._from_start = False
        return game

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
            raise refusal(self.instance, len(self._moves), move, reason, vertices, self._red_words)
        self.push_unchecked(move)

    def push_unchecked(self, move: Move) -> None:
        """Play a move known to be legal, such as one of `legal_moves`; an illegal one corrupts the game."""
        op, v = move
        weight = self.instance.cdag.weight(v)
        peak = self._peak_red
        new = False
        if op == Op.STORE:
            new = v not in self._blue
            self._blue.add(v)
            self._missing.discard(v)
            self._stores += weight
        elif op == Op.DELETE:
            self._red.remove(v)
            self._red_words -= weight
        else:
            if op == Op.LOAD:
                self._loads += weight
            else:
                new = v not in self._computed
                self._computed.add(v)
                self._computes += 1
                self._recomputes += not new
            self._red.add(v)
            self._red_words += weight
            self._peak_red = max(peak, self._red_words)
        self._moves.append(move)
        self._undo.append((new, peak))

    def pop(self) -> Move:
        """Take back the last move and return it; IndexError if there is none."""
        if not self._moves:
            raise IndexError("no move to take back")
        move = self._moves.pop()
        new, self._peak_red = self._undo.pop()
        op, v = move
        weight = self.instance.cdag.weight(v)
        if op == Op.STORE:
            self._stores -= weight
            if new:
                self._blue.remove(v)
                # Sources are blue from the start, so `new` is false for them.
                if self.instance.cdag.is_output[v]:
                    self._missing.add(v)
        elif op == Op.DELETE:
            self._red.add(v)
            self._red_words += weight
        else:
            if op == Op.LOAD:
                self._loads -= weight
            else:
                self._computes -= 1
                self._recomputes -= not new
                if new:
                    self._computed.remove(v)
            self._red.remove(v)
            self._red_words -= weight
        return move

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
        cdag = self.instance.cdag
        if not 0 <= v < cdag.num_vertices:
            return Reason.OUT_OF_RANGE, (v,)
        is_red = v in self._red
        if op == Op.STORE or op == Op.DELETE:
            return None if is_red else (Reason.NOT_RED, (v,))
        if op == Op.COMPUTE:
            preds = cdag.preds(v).tolist()
            if not preds:
                return Reason.IS_SOURCE, (v,)
            if is_red:
                return Reason.ALREADY_RED, (v,)
            if v in self._computed and not self.instance.rules.recomputation:
                return Reason.ALREADY_COMPUTED, (v,)
            bare = [u for u in preds if u not in self._red]
            if bare:
                return Reason.PREDECESSOR_NOT_RED, (min(bare),)
        elif is_red:
            return Reason.ALREADY_RED, (v,)
        elif v not in self._blue:
            return Reason.NOT_BLUE, (v,)
        if self._red_words + cdag.weight(v) > self.instance.M:
            return Reason.NO_ROOM, (v,)
        return None

    def legal_moves(self) -> list[Move]:
        """Every legal move: loads, then stores, computes and deletes, each by ascending vertex.

        O(blue vertices + successors of red vertices) per call.
        """
        red = sorted(self._red)
        # A vertex that can be computed has a predecessor, and it is red.
        near = {int(w) for v in red for w in self.instance.cdag.succs(v)}
        tries = [Move(Op.LOAD, v) for v in sorted(self._blue - self._red)]
        tries += [Move(Op.STORE, v) for v in red]
        tries += [Move(Op.COMPUTE, v) for v in sorted(near)]
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
        """The vertices computed at least once."""
        return frozenset(self._computed)

    def is_red(self, v: int) -> bool:
        """Whether `v` is red."""
        return v in self._red

    def is_blue(self, v: int) -> bool:
        """Whether `v` is blue."""
        return v in self._blue

    @property
    def red_words(self) -> int:
        """Words of fast memory in use."""
        return self._red_words

    @property
    def io(self) -> int:
        """I/O cost so far, in words."""
        return self._loads + self._stores

    @property
    def cost(self) -> Cost:
        """Everything counted so far."""
        return Cost(self._loads, self._stores, self._computes, self._recomputes, self._peak_red)

    @property
    def is_over(self) -> bool:
        """Whether every output is blue."""
        return not self._missing

    @property
    def missing_outputs(self) -> list[int]:
        """The outputs that are not blue yet, ascending."""
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
        text = f"red:{_ranges(self._red)} blue:{_ranges(self._blue)}"
        forgotten = self._computed - self._red - self._blue
        return f"{text} computed:{_ranges(forgotten)}" if forgotten else text

    def __repr__(self) -> str:
        return f"<Game {self}, {len(self)} moves, I/O {self.io}, on {self.instance!r}>"

    def _repr_svg_(self) -> str | None:
        """The position as notebooks show it; None, for the text, where the graph is too large."""
        from pebble.draw.position import Position
        from pebble.draw.svg import MOST_LAID_OUT, position_svg

        cdag = self.instance.cdag
        if cdag.num_vertices > MOST_LAID_OUT:
            return None
        return position_svg(cdag, Position.of(cdag, self._red, self._blue, self._computed))


def _as_move(move: Move | str) -> Move:
    return Move.parse(move) if isinstance(move, str) else move


def _ranges(vertices: Iterable[int]) -> str:
    """``{0, 1, 2, 3, 5, 6}`` as ``0-3,5,6``: runs of three or more are shortened."""
    runs: list[list[int]] = []
    for v in sorted(vertices):
        if runs and v == runs[-1][-1] + 1:
            runs[-1].append(v)
        else:
            runs.append([v])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def _parse_position(text: str, num_vertices: int) -> dict[str, set[int]]:
    parts: dict[str, set[int]] = {"red": set(), "blue": set(), "computed": set()}
    seen = set()
    for word in text.split():
        name, colon, ids = word.partition(":")
        if not colon or name not in parts or name in seen:
            raise FormatError("position", f"'{word}' is unclear: write red:1,3,4 blue:0-3")
        seen.add(name)
        for item in ids.split(",") if ids else []:
            match = _RANGE.match(item)
            if match is None:
                raise FormatError("position", f"'{item}' in '{word}' is no vertex id or range")
            first, last = int(match[1]), int(match[2] or match[1])
            if last >= num_vertices:
                raise FormatError(
                    "position", f"vertex {last} is out of range, ids go from 0 to {num_vertices - 1}"
                )
            parts[name].update(range(first, last + 1))
    return parts
