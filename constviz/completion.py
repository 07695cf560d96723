"""What Tab offers after ``%%constfold``, ``%constfold`` and ``%constviz``."""
# mypy: allow-untyped-decorators
# (IPython gives its decorators no types)

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from .magics import ACTIONS, STAGES, ConstvizMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Matcher"]

_MAGIC = re.compile(r"\s*(?:\w+\s*=\s*)?%(?P<cell>%?)(?P<name>constfold|constviz)\s+(?P<rest>.*)$")
_BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor")


class Matcher:
    """Completes the options of one shell's magics."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    @context_matcher(priority=200, identifier="constviz")
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """A matcher for ``IPCompleter.custom_matchers``."""
        line = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        magic = _MAGIC.match(line)
        if magic is None or (magic["cell"] and context.cursor_line):
            return _nothing()
        *words, last = magic["rest"].split(" ")
        if magic["name"] == "constviz":
            return _offer(ACTIONS, last) if not any(words) else _nothing()
        options = _options()
        option = ""
        for word in filter(None, words):
            if option:
                option = ""
            elif word.startswith("-"):
                option = word if options.get(word) else ""
            else:  # neither option nor value: the call has begun
                return _nothing()
        if option:
            return self._values(option, last)
        if last.startswith("-") or magic["cell"]:
            return _offer(options, last)
        return _offer(self._callables(), last) if last.isidentifier() else _nothing()

    def _values(self, option: str, typed: str) -> SimpleMatcherResult:
        if option == "--stage":
            return _offer(STAGES, typed)
        if option == "--backend":
            return _offer(_BACKENDS, typed)
        if option == "--fold":
            *chosen, last = typed.split(",")
            return _offer([name for name in self._marked() if name not in chosen], last)
        if option == "--against":
            return _offer(self._callables(), typed.split(",")[-1])
        return _nothing()

    def _callables(self) -> list[str]:
        hidden = self._shell.user_ns_hidden
        names = [name for name, value in list(self._shell.user_ns.items()) if name not in hidden and callable(value)]
        return sorted(name for name in names if not name.startswith("_"))

    def _marked(self) -> list[str]:
        """The names of marked functions among the user's variables, and of marked methods of the user's classes."""
        if "torch" not in sys.modules:
            return []
        from .capture.seam import is_marked

        values = [v for name, v in list(self._shell.user_ns.items()) if not name.startswith("_")]
        values += [member for v in values if isinstance(v, type) for member in vars(v).values()]
        return sorted({value.__name__ for value in values if callable(value) and _is_marked(value, is_marked)})


def _is_marked(value: Any, test: Any) -> bool:
    try:
        return bool(test(value)) and isinstance(value.__name__, str)
    except Exception:  # the user's objects may answer anything to getattr
        return False


def _options() -> dict[str, bool]:
    """The options of %constfold, each with whether it takes a value."""
    text = ConstvizMagics.constfold.parser.format_help()
    return {name: bool(value) for name, value in re.findall(r"^  (?:-\w, )?(--[\w-]+)( \S)?", text, re.MULTILINE)}


def _nothing() -> SimpleMatcherResult:
    return SimpleMatcherResult(completions=[], suppress=False)  # a new one each time: IPython writes into it


def _offer(words: Any, typed: str) -> SimpleMatcherResult:
    completions = [SimpleCompletion(text=word, type="param") for word in words if word.startswith(typed)]
    return SimpleMatcherResult(completions=completions, suppress=True, matched_fragment=typed, ordered=True)
