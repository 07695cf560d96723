"""What-if from start to end: a capture that replaces what is shown, fails, is cancelled, or runs meanwhile."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from desk import DONE, Desk
from large import transformer
from sample import comparison

from constviz.display.session import Cancelled


class TestWhatIf:
    """A capture that is run when the test says so."""

    def desk(self, refold, made=None):
        self.jobs = []
        return Desk(made or comparison(), refold=refold, schedule=self.jobs.append)

    def run(self):
        while self.jobs:
            self.jobs.pop(0)()

    def test_a_capture_replaces_what_is_shown(self):
        asked = []
        unmarked = replace(comparison(literal=True), marks=(replace(comparison().marks[0], selected=False),))

        def refold(names, progress):
            asked.append(names)
            progress("compiling without table")
            asked.append(desk.session.status["text"])
            return unmarked

        desk = self.desk(refold)
        assert desk.session.data["can_fold"]
        picture = desk.session.data["picture"]
        desk.ask("reveal", node="after.0.table_0")
        desk.changed()
        assert desk.ask("fold", names=[]) == DONE
        assert desk.session.status == {"busy": True, "text": "capturing again, between cells…", "error": ""}
        self.run()
        assert asked == [(), "compiling without table"]
        told = "what if: without table; report.shown has its tables"
        assert desk.session.status == {"busy": False, "text": told, "error": ""}
        assert desk.session.data["what_if"] == "without table"
        assert desk.changed() == ["status", "status", "status", "data", "view", "selected", "status"]
        assert desk.session.comparison is unmarked
        (mark,) = desk.session.data["marks"]
        assert (mark["name"], mark["place"], mark["selected"]) == ("table", "net.py:2", False)
        assert desk.session.data["picture"] == picture
        assert desk.box_of("after.0.table_0") is None
        assert desk.session.selected == ""
        assert desk.ask("details", node="after.0.mul")["details"]["inputs"][-1] == ["fold.0", "+ table(n=4)"]

    def test_at_once_if_nobody_schedules(self):
        desk = Desk(comparison(), refold=lambda names, progress: comparison(literal=True))
        assert desk.ask("fold", names=["table"]) == DONE
        assert desk.box_of("after.0.table_0") is None

    @pytest.mark.parametrize("problem", [ValueError("no inputs left \ud800"), RuntimeError("")])
    def test_failure(self, problem):
        def refold(names, progress):
            raise problem

        desk = self.desk(refold)
        view, data = desk.view, desk.session.data
        assert desk.ask("fold", names=["table"]) == DONE
        self.run()
        assert not desk.session.status["busy"]
        assert desk.session.status["error"].startswith(type(problem).__name__)
        assert (desk.view, desk.session.data) == (view, data)
        assert desk.ask("fold", names=["table"]) == DONE  # it may be tried again

    def test_interrupt(self):
        def refold(names, progress):
            raise KeyboardInterrupt

        desk = self.desk(refold)
        desk.ask("fold", names=["table"])
        with pytest.raises(KeyboardInterrupt):
            self.run()
        assert desk.session.status == {"busy": False, "text": "", "error": "KeyboardInterrupt: "}

    def test_a_schedule_that_fails(self):
        desk = Desk(comparison(), refold=lambda names, progress: comparison(), schedule=lambda job: 1 / 0)
        assert desk.ask("fold", names=["table"]) == {"error": "ZeroDivisionError: division by zero"}
        assert not desk.session.status["busy"]

    def test_cancelled_before_it_begins(self):
        desk = self.desk(lambda names, progress: pytest.fail("it ran"))
        desk.ask("fold", names=["table"])
        assert desk.ask("cancel") == DONE
        assert desk.session.status == {"busy": False, "text": "cancelled", "error": ""}
        self.run()
        assert desk.session.comparison == comparison()

    @pytest.mark.parametrize("looks", ["by itself", "at the next step", "not at all"])
    def test_cancelled_while_it_runs(self, looks):
        def refold(names, progress):
            assert desk.ask("cancel") == DONE
            assert desk.session.status == {"busy": True, "text": "cancelling: stops after this step…", "error": ""}
            assert progress.cancelled.is_set()
            if looks == "by itself":
                raise Cancelled
            if looks == "at the next step":
                progress("next")
                pytest.fail("it went on")
            return comparison(literal=True)

        desk = self.desk(refold)
        desk.ask("fold", names=["table"])
        self.run()
        assert desk.session.status == {"busy": False, "text": "cancelled", "error": ""}
        assert desk.box_of("after.0.table_0")

    def test_one_at_a_time_and_only_known_marks(self):
        desk = self.desk(lambda names, progress: comparison())
        for names in (["other"], "table", None, [["table"]]):
            assert "error" in desk.ask("fold", names=names)
        desk.ask("fold", names=["table"])
        assert desk.ask("fold", names=[])["error"] == "a capture is still running: cancel it first"
        self.run()
        assert desk.ask("cancel") == DONE
        assert not desk.session.status["busy"]

    def test_messages_are_answered_meanwhile(self):
        begun, go_on = threading.Event(), threading.Event()

        def refold(names, progress):
            begun.set()
            assert go_on.wait(10)
            return transformer(300)

        made = transformer(1000)
        desk = Desk(made, refold=refold)  # in the thread of the message
        worker = threading.Thread(target=desk.ask, args=("fold",), kwargs={"names": ["scale"]})
        worker.start()
        assert begun.wait(10)
        assert desk.ask("toggle", group=next(iter(desk.groups))) == DONE
        assert desk.ask("search", text="softmax")["total"] == 37
        go_on.set()
        worker.join(10)
        assert desk.ask("search", text="softmax")["total"] == 11

    def test_many_threads(self):
        desk = Desk(transformer(300))
        keys = list(desk.groups)[:4]
        answers = []
        threads = [
            threading.Thread(target=lambda k=k: answers.extend(desk.ask("toggle", group=k) for _ in range(4)))
            for k in keys
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert answers == [DONE] * 16
        assert set(keys) <= set(desk.groups)
        assert desk.view["serial"] == 17
