"""Comparisons on their way to the front end: their plan, their drawing, their payload, and the text in it."""

from __future__ import annotations

from constviz.analysis.diff import diff
from constviz.display.drawing import drawing
from constviz.display.opening import Opening
from constviz.display.payload import payload
from constviz.display.scene import Plan


def plan_of(made, stage="dynamo", **options):
    variants = made.variants
    return Plan(diff(variants.get("before"), variants.get("after"), stage), brief=True, **options)


def view_of(made, budget=150):
    plan = plan_of(made)
    opening = Opening(plan.tree, budget)
    return drawing(plan, plan.scene(opening.keys, opening.asked), stage="dynamo")


def payload_of(made, **options):
    return payload(made, plan_of(made), **options)


def strings(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value
