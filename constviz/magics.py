"""``%%constfold``, ``%constfold`` and ``%constviz``: options in, reports out."""
# mypy: allow-untyped-calls, allow-untyped-decorators
# (IPython gives its decorators no types)

from __future__ import annotations

import ast
import re
import sys
from argparse import REMAINDER, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, needs_local_scope, no_var_expand
from IPython.core.magic_arguments import argument, kwds, magic_arguments

from .cells import Cells, Session, run_nested, show_as_typed
from .cellwatch import CellWatch
from .intercept import Interception, nothing_called, one_line
from .naming import unknown_names

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .report import FoldReport

__all__ = ["ACTIONS", "STAGES", "ConstvizMagics"]

STAGES = ("dynamo", "aot_forward", "aot_backward", "post_grad", "code")
ACTIONS = ("status", "on", "off", "reset", "watch", "unwatch")

_WORD = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")


@magics_class
class ConstvizMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self.interception = Interception()
        self.cells = Cells(self.interception, self._finish)
        self.watch = CellWatch(shell)

    # -- %%constfold and %constfold -----------------------------------------------------------------------------

    @magic_arguments()
    @kwds(
        description="""Show what torch.compiler.assume_constant_result did, before and after.

        %%constfold, first in a cell, runs the cell as usual and then shows a report for each function compiled by
        torch.compile that was called in it, however and whenever it was compiled.

        %constfold f(x) shows the report of one call of any function.  Its variants run on copies: nothing of the
        program is changed, and the call itself is not made.
        """
    )
    @argument("--stage", choices=STAGES, default="dynamo", help="which graphs to show")
    @argument("--fold", metavar="NAMES", help="fold only these marked functions, as in --fold f,g")
    @argument("--against", metavar="NAMES", help="time these functions too, as in --against h")
    @argument("--no-time", action="store_true", help="do not measure how fast the variants run")
    @argument("--no-probe", action="store_true", help="do not call the folded functions again to test them")
    @argument("--name", metavar="NAME", help="store the report in this variable (a list of them if there are several)")
    @argument("--save", metavar="PATH", help="save the report: .html, .json, .svg or .dot")
    @argument("--backend", metavar="NAME", help="trace through this backend instead of the function's own")
    @argument("-q", "--quiet", action="store_true", help="show no report; for use with --name and --save")
    @argument("call", nargs=REMAINDER, help="the call to look at, for %%constfold only")
    @line_cell_magic
    @no_var_expand
    @needs_local_scope
    def constfold(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> None:
        """Replaced by the description above."""
        __tracebackhide__ = True
        if cell is None:
            self._one_call(line, local_ns)
        else:  # what Cells.transform leaves to us
            options = self._cell_options(line)
            if not any(text.strip() and not text.strip().startswith("#") for text in cell.splitlines()):
                raise UsageError("%%constfold runs the cell below it, but the cell is empty")
            with self.cells.session(options):
                run_nested(self._shell, cell)

    def begin(self, line: str) -> None:
        """What the first line of a ``%%constfold`` cell becomes: the rest of the cell runs as any cell does."""
        __tracebackhide__ = True
        show_as_typed(sys._getframe(1), line)
        self.cells.begin(self._cell_options(line))

    def _one_call(self, line: str, local_ns: dict[str, Any] | None) -> None:
        __tracebackhide__ = True
        from .comparison import compare_call

        options, expression = self._options(line)
        fn, args, kwargs = _parts_of_call(expression, self._shell.user_ns, local_ns)
        keywords = {"backend": options.backend} if options.backend is not None else {}
        try:
            report = compare_call(fn, tuple(args), kwargs, fold=options.fold, probe=not options.no_probe, **keywords)
        except TypeError as error:
            if _is_ours(error):
                raise UsageError(str(error)) from None
            raise _of_user(error) from None
        except Exception as error:
            raise _of_user(error) from None
        self._show([report], options)

    # -- after a cell --------------------------------------------------------------------------------------------

    def _finish(self, session: Session, failed: bool) -> None:
        options: Namespace = session.options
        seen = bool(session.collection.pending or session.collection.problems)
        reports = self.interception.reports(
            session.collection, _tell, fold=options.fold, backend=options.backend, probe=not options.no_probe
        )
        try:
            self._show(reports, options)
        except KeyboardInterrupt:
            _tell("interrupted")
        except Exception as error:  # the user's cell is over and was fine: it must stay so
            _tell(f"could not show a report: {one_line(error)}")
        if not seen and session.asked and not failed and not options.quiet:
            _tell(nothing_called())

    def _show(self, reports: Iterable[FoldReport], options: Namespace) -> None:
        """Show, save and store reports, each as soon as it is there."""
        kept = []
        for report in reports:
            kept.append(report)
            if not options.quiet:
                _display(report)
                if not options.no_time:
                    self._time(report, options)
            if options.save:
                self._save(report, options.save, len(kept))
        if options.name:
            self._shell.user_ns[options.name] = kept[0] if len(kept) == 1 else kept
        marks = [mark for report in kept for mark in report.comparison.marks]
        for sentence in unknown_names(options.fold or (), list(dict.fromkeys(marks))) if kept else ():
            _tell(f"--fold: {sentence}")
        if options.stage != "dynamo":
            _tell(f"--stage {options.stage} is not there yet: reports show the stage dynamo")

    def _time(self, report: FoldReport, options: Namespace) -> None:
        from .showing import show_timings

        against = {name: _named(self._shell.user_ns, name) for name in options.against or ()}
        for name in [name for name, fn in against.items() if not callable(fn)]:
            _tell(f"--against: there is no function {name}")
            del against[name]
        if options.no_probe:
            _tell("not timed, since --no-probe says that functions must not be called again; report.timings() does it")
        elif report.program is not None:
            try:
                show_timings(report, against)
            except KeyboardInterrupt:  # the report is there all the same
                _tell("the timing was interrupted")

    def _save(self, report: FoldReport, path: str, number: int) -> None:
        stem, dot, suffix = path.rpartition(".")
        if number > 1:
            path = f"{stem}-{number}{dot}{suffix}" if stem else f"{path}-{number}"
        try:
            report.save(path)
        except Exception as error:
            _tell(f"could not save {path}: {error}")
        else:
            _tell(f"saved {path}")

    # -- options -------------------------------------------------------------------------------------------------

    def _cell_options(self, line: str) -> Namespace:
        options, rest = self._options(line)
        if rest:
            raise UsageError(f"%%constfold takes options only, not {rest!r}; for one call: %constfold f(x)")
        return options

    def _options(self, line: str) -> tuple[Namespace, str]:
        """Options at the start of the line, and the text after them as it stands: quotes, spaces and all."""
        words = list(_WORD.finditer(line))
        options = self.constfold.parser.parse_args([_unquoted(word[1]) for word in words])
        first = len(words) - len(options.call)
        rest = line[words[first].start(1) :].strip() if options.call else ""
        options.fold = _names(options.fold)
        options.against = _names(options.against)
        options.backend = self._backend(options.backend)
        if options.name is not None and not options.name.isidentifier():
            raise UsageError(f"--name takes the name of a variable, not {options.name!r}")
        return options, rest

    def _backend(self, name: str | None) -> Any:
        if name is None:
            return None
        import torch

        if name in torch.compiler.list_backends(exclude_tags=()):
            return name
        if callable(found := self._shell.user_ns.get(name)):
            return found
        usual = ", ".join(torch.compiler.list_backends())
        raise UsageError(f"--backend {name}: no such backend or function; PyTorch has {usual}")

    # -- %constviz -----------------------------------------------------------------------------------------------

    @magic_arguments()
    @kwds(
        description="""Manage what constviz watches.

        status  what is intercepted, and what cannot be seen
        on      report after every cell, for each compiled function that was not reported before
        off     stop that
        reset   forget what was seen, so that it is reported again
        watch   after each cell, say which folded value no longer holds in a function reported so far or later
        unwatch stop that
        """
    )
    @argument("action", nargs="?", choices=ACTIONS, default="status", help="what to do")
    @line_magic
    def constviz(self, line: str) -> None:
        """Replaced by the description above."""
        __tracebackhide__ = True
        action = self.constviz.parser.parse_args(line.split()).action
        if action == "on":
            self.cells.watch_all(self._options("--no-time")[0])
            _tell("on: after each cell, a report for every compiled function not reported before")
        elif action == "off":
            self.cells.watch_none()
            _tell("off: only %%constfold and %constfold report")
        elif action == "reset":
            self.interception.forget()
            _tell("reset: functions seen before are reported again")
        elif action == "watch":
            self.watch.start()
            _tell(f"watch is {self.watch.describe()}")
        elif action == "unwatch":
            self.watch.stop()
            _tell("watch is off")
        else:
            print(self._status())

    def _status(self) -> str:
        from importlib.metadata import version

        from . import __version__

        count, names = self.interception.count, self.interception.names
        if self.cells.watching_all:
            state = "on: every cell is watched"
        elif self.interception.is_open:
            state = "watching this cell"
        else:
            state = "off: nothing is patched; %%constfold watches its own cell"
        return "\n".join((
            f"constviz {__version__}, torch {version('torch')}",
            f"interception    {state}",
            f"functions seen  {count}" + (f" ({', '.join(names)})" if names else ""),
            f"watch           {self.watch.describe()}",
            "backend         each function's own, unless --backend is given",
            "not seen        torch.compile with disable=True or TORCHDYNAMO_DISABLE=1; torch.export; torch.jit;",
            "                compiled functions that run in other processes, or inside other compiled functions",
        ))  # fmt: skip


def _display(report: FoldReport) -> None:
    from .showing import show

    show(report)  # not display(report): an error in it is ours to catch


def _tell(text: str) -> None:
    print(f"constviz: {text}")


def _names(text: str | None) -> list[str] | None:
    return [name for part in text.split(",") if (name := part.strip())] if text is not None else None


def _named(namespace: dict[str, Any], name: str) -> Any:
    """What a dotted name stands for; None if there is no such thing."""
    first, *others = name.split(".")
    found = namespace.get(first)
    for attribute in others:
        found = getattr(found, attribute, None)
    return found


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def _parts_of_call(
    text: str, user_ns: dict[str, Any], local_ns: dict[str, Any] | None
) -> tuple[Any, list[Any], dict[str, Any]]:
    """Evaluate everything in ``f(x, *y, k=z)`` but the call."""
    __tracebackhide__ = True
    text = text.rstrip("; \t")
    if not text:
        raise UsageError("%constfold takes a call, such as %constfold f(x)")
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"%constfold takes a call, such as %constfold f(x); {text!r}: {error.msg}") from None
    if not isinstance(call, ast.Call):
        raise UsageError(f"%constfold takes a call, such as %constfold f(x), not {text!r}")
    keywords = ast.Dict(
        keys=[ast.Constant(keyword.arg) if keyword.arg is not None else None for keyword in call.keywords],
        values=[keyword.value for keyword in call.keywords],
    )
    parts = ast.Tuple([call.func, ast.List(call.args, ast.Load()), keywords], ast.Load())
    code = compile(ast.fix_missing_locations(ast.Expression(parts)), "<constfold>", "eval")
    fn, args, kwargs = eval(code, user_ns, local_ns if local_ns is not None else user_ns)
    return fn, args, kwargs


def _is_ours(error: BaseException) -> bool:
    """Whether constviz itself raised, and not the user's function."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb is not None and _in_package(tb.tb_frame.f_globals)


def _of_user(error: BaseException) -> BaseException:
    """The error with a traceback that begins in the user's function, if it got there."""
    tb = error.__traceback__
    while tb is not None and _in_package(tb.tb_frame.f_globals):
        tb = tb.tb_next
    return error.with_traceback(tb)


def _in_package(module: dict[str, Any]) -> bool:
    return str(module.get("__name__", "")).split(".")[0] == __package__
