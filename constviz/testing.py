"""assert_sound(): a verdict as a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .report import FoldReport

__all__ = ["assert_sound"]


def assert_sound(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    allow: Iterable[str] = ("sound", "not_folded"),
    **options: Any,
) -> FoldReport:
    """Fail unless every fold of the call may be trusted.  For a test suite.

    >>> import torch, constviz
    >>> @torch.compiler.assume_constant_result
    ... def width(n):
    ...     return 2 * n
    >>> report = constviz.assert_sound(lambda x: x * width(4), args=(torch.ones(2),), backend="eager")
    >>> str(report.verdict)
    'sound'

    Args:
        fn, args, kwargs: the call, as for :func:`constviz.compare`.
        allow: the verdicts that pass.  Add ``"conditional"`` to admit folds that rest on the state listed in
            ``report.assumptions``; leave ``"not_folded"`` out to insist that the marks take effect.
        options: further options of :func:`constviz.compare`.

    Returns:
        The report.

    Raises:
        AssertionError: a fold has another verdict, or there is none.  The message is the report's text.
    """
    from .comparison import compare

    report = compare(fn, args, kwargs, **options)
    allowed = {str(verdict) for verdict in ([allow] if isinstance(allow, str) else allow)}
    after = report.variants["after"]
    verdicts = [str(fold.verdict) for fold in after.folds] or ["not_folded"]
    bad = sorted(set(verdicts) - allowed)
    if bad:
        raise AssertionError(f"{', '.join(bad)}, where only {', '.join(sorted(allowed))} may be\n\n{report}")
    return report
