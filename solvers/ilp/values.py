"""The program's constraints on one value: how it gets from each of its touches to its uses."""

from __future__ import annotations

from solvers.ilp.formulation import Formulation
from solvers.ilp.model import FALSE, TRUE
from solvers.ilp.roles import END, START

__all__ = ["add_value"]


def add_value(f: Formulation, v: int) -> None:
    """Add the variables and constraints of vertex v."""
    roles, model, rules = f.roles, f.model, f.instance.rules
    uses, touches = roles.needs(v), roles.touches(v)
    loads = []
    for b in uses:
        choices = _keeps(f, v, touches, b)
        load = f.load[v, b] = model.variable(f"load_{v}_{b}")
        loads.append(load)
        choices.append(load)
        if b in roles.makes[v]:
            choices.append(_fresh(f, v, b))
        if f.present[b] != TRUE:
            choices.append(-f.present[b])
        model.exactly(choices)
    if roles.ends(v):
        _keeps(f, v, touches, END)
    # Only with recomputation; without deletion a drop may be what it is computed for.
    if rules.deletion and not rules.partial:
        for again in roles.makes[v][0 if v in roles.given else 1 :]:
            # A value is computed again only to be used.
            used = [f.keep[v, again, b] for b in (*uses, END) if (v, again, b) in f.keep]
            model.clause(-f.present[again], *used)
    price = 0 if roles.is_remade(v) else rules.load_cost
    for b, load in zip(uses, loads, strict=True):
        stored_too = rules.deletion and b in roles.makes[v]
        f.pay(roles.weight[v] * (price + rules.store_cost * stored_too), load)
    if roles.is_blue(v) and v not in roles.given and any(f.present[b] == TRUE for b in uses):
        model.clause(*loads)
    if rules.deletion:
        _add_store(f, v)
    else:
        _add_departures(f, v, touches)


def _keeps(f: Formulation, v: int, touches: list[int], b: int) -> list[int]:
    """The ways in which v is red at b since an earlier touch."""
    keeps = []
    for a in touches:
        if a == b or f.before[a, b] == FALSE:
            continue
        kept = f.keep[v, a, b] = f.model.variable(f"keep_{v}_{_name(a)}_{_name(b)}")
        keeps.append(kept)
        f.model.clause(-kept, f.before[a, b])
        f.model.clause(-kept, f.happens(a))
        if (a, v) in f.slide:
            f.model.clause(-kept, -f.slide[a, v])
        _add_stay(f, v, a, b, kept)
    return keeps


def _name(touch: int) -> str:
    return {START: "start", END: "end"}.get(touch, str(touch))


def _add_stay(f: Formulation, v: int, a: int, b: int, kept: int) -> None:
    """While kept from a to b, v is red at every compute between them, and is not computed anew."""
    roles, rules = f.roles, f.instance.rules
    made, used = set(roles.makes[v]), set(roles.needs(v))
    for e, present in enumerate(f.present):
        after, until = (FALSE, FALSE) if e in (a, b) else (f.before[a, e], f.before[e, b])
        if FALSE in (after, until):
            continue
        if e in used:
            if not rules.deletion:
                f.model.clause(-kept, -after, -until, -present)
            elif (e, v) in f.slide:
                f.model.clause(-kept, -after, -until, -f.slide[e, v])
            continue
        if e in made:
            f.model.clause(-kept, -after, -until, -present)
            continue
        if (v, e) not in f.red:
            f.red[v, e] = f.model.variable(f"red_{v}_{e}")
        f.model.clause(-kept, -after, -until, f.red[v, e])


def _fresh(f: Formulation, v: int, b: int) -> int:
    """Under partial computation: whether compute b is the first into v. The first loads nothing."""
    fresh = f.fresh[b] = f.model.variable(f"fresh_{b}")
    others = [a for a in f.roles.makes[v] if a != b]
    for a in others:
        f.model.clause(-fresh, f.before[b, a])
    f.model.clause(-f.load[v, b], *(f.before[a, b] for a in others))
    return fresh


def _add_store(f: Formulation, v: int) -> None:
    """Where values are deleted: one store, if v is loaded, or an output that is not red at the end."""
    roles, model = f.roles, f.model
    if roles.is_blue(v) or roles.must_be_stored(v) or (roles.is_remade(v) and not roles.ends(v)):
        return
    store = f.store[v] = model.variable(f"store_{v}")
    f.pay(roles.weight[v] * f.instance.rules.store_cost, store)
    if not roles.is_remade(v):
        for b in roles.uses[v]:
            model.clause(-f.load[v, b], store)
    if roles.ends(v):
        model.clause(store, *(x for (u, _, b), x in f.keep.items() if u == v and b == END))


def _add_departures(f: Formulation, v: int, touches: list[int]) -> None:
    """Without deletion: after each touch v is kept, stored, or slides."""
    roles, model, rules = f.roles, f.model, f.instance.rules
    for a in touches:
        drop = f.drop[v, a] = model.variable(f"drop_{v}_{_name(a)}")
        f.pay(roles.weight[v] * rules.store_cost, drop)
        after = [f.keep[v, a, b] for b in (*roles.needs(v), END) if (v, a, b) in f.keep]
        if (a, v) in f.slide:
            after.append(f.slide[a, v])
        if f.happens(a) != TRUE:
            after.append(-f.happens(a))
        model.exactly([*after, drop])
    if roles.must_be_stored(v):
        model.clause(*(_final(f, v, a) for a in touches))
    elif roles.output[v] and not roles.is_blue(v):
        at_end = [f.keep[v, a, END] for a in touches]
        model.clause(*at_end, *(f.drop[v, a] for a in touches))
    if not rules.sliding or roles.is_blue(v) or roles.is_remade(v):
        return
    for b in roles.uses[v]:
        earlier = []
        for a in touches:
            if a == b or f.before[a, b] == FALSE:
                continue
            blue = f.blue[v, a, b] = model.variable(f"blue_{v}_{_name(a)}_{b}")
            model.clause(-blue, f.drop[v, a])
            model.clause(-blue, f.before[a, b])
            earlier.append(blue)
        model.clause(-f.load[v, b], *earlier)


def _final(f: Formulation, v: int, a: int) -> int:
    """A literal that implies that v is stored after touch a, complete."""
    drop = f.drop[v, a]
    others = [e for e in f.roles.makes[v] if e != a] if f.instance.rules.partial else []
    if not others or a not in f.roles.makes[v]:
        return drop
    final = f.final[v, a] = f.model.variable(f"final_{v}_{a}")
    f.model.clause(-final, drop)
    for e in others:
        f.model.clause(-final, f.before[e, a])
    return final
