"""``pebble show``: a graph, or a position of a schedule, as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption
from pebble.cli.output import console, print_json
from pebble.cli.targets import ScheduleGraphOption, TargetArgument, load_target

if TYPE_CHECKING:
    from pebble.schedule import Schedule

__all__ = ["show"]

_STYLES = {"[Rr]": "bold red", "[Bb]": "bold blue", "[Pp]": "bold magenta"}


def show(
    target: TargetArgument,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="K", help="Of a schedule, the position after K moves. Default: all."),
    ] = None,
    graph: ScheduleGraphOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print a position of a schedule, or a small graph, as text.

    R is red, B blue, P both, x computed with no pebble left; small letters are values that partial rules have
    not completed. Exit code 1 if a rule is broken before move K.
    """
    from pebble.draw.text import graph_text

    name, instance, schedule = load_target(target, None, None, graph)
    if schedule is None:
        if at is not None:
            raise typer.BadParameter("it goes with a schedule file", param_hint="'--at'")
        g = instance.cdag
        if as_json:
            print_json({"graph": name, "num_vertices": g.num_vertices, "edges": g.edges()})
            return
        _write(
            f"{name}: {g.num_vertices:,} vertices, {g.num_edges:,} edges, least M {instance.least_M:,}\n"
            + graph_text(g)
        )
        return
    moves = len(schedule) if at is None else at
    if not 0 <= moves <= len(schedule):
        raise typer.BadParameter(f"the schedule has {len(schedule):,} moves", param_hint="'--at'")
    _show_position(name, schedule, moves, as_json)


def _show_position(name: str, schedule: Schedule, moves: int, as_json: bool) -> None:
    import numpy as np

    from pebble.aggregates import aggregate_of
    from pebble.boards import Board
    from pebble.draw.position import Position
    from pebble.draw.text import BEGUN_MARKS, MARKS, position_text
    from pebble.errors import IncompleteScheduleError
    from pebble.moves import Op
    from pebble.referee import verify_stream

    instance, g = schedule.instance, schedule.instance.cdag
    over = True
    try:
        verify_stream(instance, [schedule.moves[:moves]])
    except IncompleteScheduleError:
        over = False  # as it must be in the middle
    board = Board.of(instance)
    board.play(schedule.moves[:moves])
    cost, red_words = board.cost, board.red_words
    position = Position.after(schedule, moves)

    def told(k: int) -> str | None:
        if not 0 <= k < len(schedule):
            return None
        move = schedule[k]
        if not instance.rules.partial or move.op is not Op.COMPUTE:
            return str(move)
        u, v = aggregate_of(g, move.vertex)
        return f"{move} ({v} computed)" if u < 0 else f"{move} ({u} into {v})"

    around = [told(moves - 1), told(moves)]
    document: dict[str, Any] = {
        "graph": name,
        "M": instance.M,
        "rules": instance.rules.name,
        "at": moves,
        "moves": len(schedule),
        "last": around[0],
        "next": around[1],
        "io": cost.io,
        "loads": cost.loads,
        "stores": cost.stores,
        "red_words": red_words,
        "over": over,
        "red": np.flatnonzero(position.red),
        "blue": np.flatnonzero(position.blue),
    }
    if as_json:
        print_json(document)
        return
    done = "all outputs blue" if instance.rules.outputs == "blue" else "all outputs red or blue"
    steps = "".join(f", {word} {move}" for word, move in zip(("last", "next"), around, strict=True) if move)
    _write(
        f"{name}, M={instance.M:,}, rules {instance.rules}, "
        f"after {moves:,} of {len(schedule):,} moves{steps}\n"
        f"I/O {cost.io:,} ({cost.loads:,} loads, {cost.stores:,} stores), red words {red_words:,} of "
        f"{instance.M:,}, {done if over else 'outputs missing'}\n"
    )
    _write(position_text(g, position), coloured=True)
    _write("")
    for marks in (MARKS, BEGUN_MARKS) if instance.rules.partial else (MARKS,):
        _write("  ".join(f"{mark} {meaning}" for mark, meaning in marks.items()))


def _write(text: str, *, coloured: bool = False) -> None:
    if not coloured or not sys.stdout.isatty():
        sys.stdout.write(text + "\n")
        return
    from rich.text import Text

    styled = Text(text)
    for mark, style in _STYLES.items():
        styled.highlight_regex(rf"(?<= ){mark}(?= |$)|^{mark}(?= |$)", style)
    console().print(styled)
