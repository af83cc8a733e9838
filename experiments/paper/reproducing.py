"""`reproduce`: do the runs, judge the claims, write the report."""

from __future__ import annotations

import os
from collections.abc import Callable

from experiments.executors import in_processes
from experiments.paper.devices import Device, read_devices
from experiments.paper.document import Document
from experiments.paper.studies import Facts, Scale, study_runs
from experiments.running import Record

__all__ = ["reproduce", "scale_of"]

_MASKS = ("causal", "window:128", "block:64:butterfly")


def scale_of(*, quick: bool = False, devices: list[Device] | None = None) -> Scale:
    """How much is computed: all, or what takes seconds."""
    machines = read_devices() if devices is None else devices
    if quick:
        return Scale(
            n=1024,
            d=64,
            ratios=(1 / 64, 1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 16),
            crossings=((256, 16),),
            step=0.2,
            gaps=((256, 16), (1024, 64)),
            large=(4096, 64),
            devices=[d for d in machines if d.word == machines[0].word][:4],
            head_dims=(64, 256, 576),
            tokens=1024,
            masks=_MASKS[:2],
            masked=(1024, 64),
        )
    return Scale(
        n=4096,
        d=128,
        ratios=(
            1 / 64,
            1 / 32,
            1 / 16,
            1 / 8,
            3 / 16,
            1 / 4,
            3 / 8,
            1 / 2,
            3 / 4,
            1,
            1.5,
            2,
            3,
            4,
            8,
            16,
            32,
        ),
        crossings=((256, 16), (1024, 32), (1024, 64), (4096, 128), (4096, 256)),
        step=0.1,
        gaps=((256, 16), (1024, 64), (4096, 128), (65536, 128)),
        large=(65536, 128),
        devices=machines,
        head_dims=(64, 128, 192, 256, 576),
        tokens=4096,
        masks=_MASKS,
        masked=(4096, 64),
    )


def reproduce(
    *,
    quick: bool = False,
    jobs: int | None = None,
    devices: list[Device] | None = None,
    on_progress: Callable[[int, int, Record | None], None] | None = None,
) -> Document:
    """The report: figures, tables and claims of the paper, from runs that are done now.

    Parameters
    ----------
    quick : bool
        Smaller sizes and fewer of them.
    jobs : int, optional
        Processes; one per processor by default.
    devices : list of Device, optional
        For the checklist; those of `devices.toml` by default.
    on_progress : callable, optional
        Called with the runs done, their number, and the record of the last.

    Returns
    -------
    Document

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    PebbleError
        A run failed.
    """
    from experiments.paper.claims import judge
    from experiments.plotting import plot_style

    with plot_style():
        # Before the runs: what is missing should be said at once.
        from experiments.paper.sections import all_sections
    scale = scale_of(quick=quick, devices=devices)
    runs = study_runs(scale)
    records = []
    if on_progress is not None:
        on_progress(0, len(runs), None)
    for record in in_processes(runs, jobs or os.cpu_count() or 1):
        records.append(record)
        if on_progress is not None:
            on_progress(len(records), len(runs), record)
    facts = Facts(records)
    command = "pebble report --quick" if quick else "pebble report"
    introduction = (
        f"Written by `{command}` from {len(runs):,} runs: exact counts of tile programs, certified lower "
        "bounds and "
        "proved optima, nothing copied from a paper. Sizes in words, one I/O per word loaded or stored. The "
        "subject: "
        "Li, Liang, Shi, Song & Zhou (2024), Fine-grained attention I/O complexity, arXiv 2410.09397; "
        "Algorithm 6 is "
        "theirs, as reconstructed from its description; FlashAttention is that of Dao et al. (2022)."
    )
    title = "The I/O of attention's backward pass, recomputed"
    claims = [
        {"claim": f"C{c.number}", "statement": c.statement, "verdict": c.verdict, "numbers": c.numbers}
        for c in judge(facts, scale)
    ]
    return Document(title, introduction, all_sections(facts, scale), claims)
