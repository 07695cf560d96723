"""The options of the magics: good and bad ones, their completion and their help."""

from __future__ import annotations

import pytest

import constviz

pytest_plugins = ["shell.loaded"]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%constfold --wrong\nf(x)", "--wrong"),
        ("%%constfold f\nf(x)", "'f'"),
        ("%%constfold --stage wrong\nf(x)", "wrong"),
        ("%%constfold\n", "empty"),
        ("%%constfold\n# only a comment\n\n", "empty"),
    ],
)
def test_a_bad_cell_is_one_usage_error_and_does_not_run(shell, cell, says):
    ran = shell.run(cell)
    assert ran.error == "UsageError"
    text = (ran.stdout + ran.stderr).strip()
    assert text.startswith("UsageError: ")
    assert says in text
    assert not shell.ip.find_cell_magic("constfold").__self__.interception.is_open


@pytest.mark.parametrize("option", ["--stage post_grad"])
def test_options_that_are_not_there_yet_say_so(shell, option):
    for cell in (f"%%constfold {option}\nf(x);", f"%constfold {option} f(x)"):
        ran = shell.run(cell)
        assert len(ran.reports) == 1
        (line,) = ran.lines
        assert option.split()[0] in line
        assert "not there yet" in line


def test_the_other_options_are_accepted_silently(shell):
    ran = shell.run("%%constfold --stage dynamo --no-time --quiet\nf(x);")
    assert (ran.stdout, ran.reports) == ("", [])


def test_fold_selects(shell):
    shell.run("%%constfold -q --fold scale --name chosen\nf(x);")
    assert shell.ip.user_ns["chosen"].folds["function"].tolist() == ["scale"]


def test_backend_by_name_and_by_variable(shell):
    shell.run("used = []\ndef mine(gm, inputs):\n    used.append(gm)\n    return gm")
    shell.run("%%constfold -q --backend mine\nf(x);")
    assert len(shell.ip.user_ns["used"]) == 2  # before and after
    assert shell.run("%%constfold -q --backend aot_eager --name r\nf(x);").error is None
    assert shell.ip.user_ns["r"].comparison.options["backend"] == "aot_eager"


def test_save(shell, tmp_path):
    path = tmp_path / "with space.json"
    ran = shell.run(f"%%constfold -q --save '{path}'\nf(x); g(x);")
    assert ran.lines == [f"constviz: saved {path}", f"constviz: saved {tmp_path / 'with space-2.json'}"]
    assert set(constviz.load(path).folds["function"]) == {"scale", "shift"}
    ran = shell.run(f"%constfold -q --save {tmp_path}/none/x.json f(x)")
    assert (ran.error, len(ran.lines)) == (None, 1)
    assert "could not save" in ran.lines[0]


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        ("%%constfold --no", ["--no-time", "--no-probe"]),
        ("%constfold --na", ["--name"]),
        ("%%constfold --stage post", ["post_grad"]),
        ("%%constfold --fold s", ["scale", "shift"]),
        ("%%constfold --fold scale,s", ["shift"]),
        ("%constfold -q --fold sc", ["scale"]),
        ("%constfold -q boo", ["boom"]),
        ("report = %constfold --qu", ["--quiet"]),
        ("%constviz o", ["on", "off"]),
    ],
)
def test_completion(shell, typed, offers):
    start = max(typed.rfind(" "), typed.rfind(",")) + 1
    assert shell.complete(typed) == [typed[:start] + offer for offer in offers]


def test_completion_of_the_code_is_left_alone(shell):
    assert "%%constfold -q\nboom" in shell.complete("%%constfold -q\nboo")
    assert "%constfold f(boom" in shell.complete("%constfold f(boo")
    assert shell.complete("%%constfold --save ") != []


def test_a_cell_typed_in_a_terminal_ends_with_an_empty_line(shell):
    check = shell.ip.input_transformer_manager.check_complete
    assert check("%%constfold\nf(x)")[0] == "incomplete"
    assert check("%%constfold\nf(x)\n\n")[0] == "complete"


def test_help_names_every_option(shell):
    text = shell.ip.find_cell_magic("constfold").__doc__
    for option in (
        "--stage", "--fold", "--against", "--no-time", "--no-probe", "--name", "--save", "--backend", "--quiet",
    ):  # fmt: skip
        assert option in text
    assert "before and after" in text
