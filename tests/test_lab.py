"""The diagram in a real JupyterLab and a real Notebook: using it, and what is left of it without a kernel."""

from __future__ import annotations

import json

import pytest
from labs import CHROMIUM, FLAGS, Lab, leaves_the_machine, run_all, run_cell, save, shut_down_kernel

sync_api = pytest.importorskip("playwright.sync_api")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupyterlab")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a system Chromium, and there is none")

CELLS = [
    "%load_ext constviz\nimport torch",
    """\
CFG = {"scale": 3.0}
@torch.compiler.assume_constant_result
def scale():
    return CFG["scale"]
@torch.compiler.assume_constant_result
def mask(n):
    return torch.tril(torch.ones(n, n))
@torch.compile(backend="eager")
def f(x):
    return torch.relu(x @ mask(3)) * scale()""",
    "%%constfold --name report\nf(torch.ones(2, 3));",
]

DEEP = [
    "%load_ext constviz\nimport torch",
    """\
@torch.compiler.assume_constant_result
def gain():
    return torch.arange(8.0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        pairs = [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()) for _ in range(9)]
        self.steps = torch.nn.ModuleList(pairs)
    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return x
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block() for _ in range(12)])
    def forward(self, x):
        x = x * gain()
        for block in self.blocks:
            x = block(x)
        return x
net = torch.compile(Net(), backend="eager")""",
    "%%constfold --name report\nnet(torch.ones(2, 8));",
]


SLOW = [
    "%load_ext constviz\nimport time\nimport torch",
    """\
SECONDS = [0]
@torch.compiler.assume_constant_result
def gain():
    return 2.0
@torch.compiler.disable
def wait(x):
    time.sleep(SECONDS[0])
    return x
@torch.compile(backend="eager")
def f(x):
    return wait(x * gain()) + 1""",
    "%%constfold --name report\nf(torch.ones(3));",
    "SECONDS[0] = 2; 1",
]

COUNT = "() => document.querySelector('.constviz .cv-pane').querySelectorAll('.cv-box:not(.cv-absent)').length"


@pytest.fixture(scope="module", params=["lab", "notebook"])
def lab(request, tmp_path_factory):
    if request.param == "notebook":
        pytest.importorskip("notebook")
    lab = Lab(tmp_path_factory.mktemp(request.param), request.param)
    lab.write("run.ipynb", CELLS)
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def opened(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 1500})
    page.set_default_timeout(60_000)
    page.outside = []
    page.on("request", lambda request: page.outside.append(request.url) if leaves_the_machine(request.url) else None)
    return page


@pytest.fixture(scope="module")
def live(lab, browser):
    """The notebook with all cells run."""
    page = opened(browser)
    run_all(page, lab.address("run.ipynb"))
    page.locator(".constviz .cv-box").first.wait_for()
    yield page
    assert not page.outside
    page.close()


def box(page, words, pane=0):
    return page.locator(".constviz .cv-pane").nth(pane).locator(".cv-box:not(.cv-absent)", has_text=words).first


def test_the_widget_takes_the_place_of_the_picture(live, tmp_path):
    picture = live.locator("img[alt^='constviz diagram']")
    assert picture.count() == 1 and not picture.is_visible()
    assert live.locator(".constviz .cv-pane:visible").count() == 2
    live.screenshot(path=str(tmp_path / "live.png"))
    drawn = box(live, "matmul").bounding_box()
    assert drawn["width"] > 20 and drawn["height"] > 8
    # one layout: what both have is at the same height in both panes
    assert abs(drawn["y"] - box(live, "matmul", 1).bounding_box()["y"]) < 1


def test_a_click_selects_on_both_sides_and_in_python(live, tmp_path):
    box(live, "relu").click()
    assert live.locator(".constviz .cv-box.cv-chosen:not(.cv-absent)").count() == 2
    live.locator(".cv-facts", has_text="relu").first.wait_for()
    live.screenshot(path=str(tmp_path / "clicked.png"))
    assert run_cell(live, "report.widget.selected") == "'after.0.relu'"
    name = live.locator(".cv-facts dt").first.bounding_box()
    assert name["height"] < 25, "the names of the facts are broken over lines"


def test_python_selects(live):
    run_cell(live, "report.widget.selected = ''; 1")
    live.wait_for_function("() => !document.querySelector('.constviz .cv-chosen')")


def test_a_constant_tells_its_value_and_verdict(live):
    box(live, "mask", 1).click()
    panel = live.locator(".constviz .cv-details")
    panel.locator(".cv-heat").wait_for()
    words = panel.inner_text()
    for expected in ("mask(n=3)", "sound", "36", "min", "max"):  # nine floats of four bytes
        assert expected in words


def test_search_steps_through_hits(live):
    field = live.locator(".constviz input[type=search]")
    field.fill("relu")
    live.wait_for_function("() => document.querySelector('.constviz .cv-hit')")
    field.press("Enter")
    assert "1" in live.locator(".constviz .cv-count").inner_text()
    field.press("Escape")
    live.wait_for_function("() => !document.querySelector('.constviz .cv-hit')")


def test_keys_walk_and_open_nothing_else(live):
    box(live, "relu").click()
    live.keyboard.press("ArrowDown")
    live.keyboard.press("Enter")
    live.wait_for_function("() => document.querySelector('.constviz .cv-chosen')?.textContent.includes('mul')")
    before = live.locator(".jp-Cell").count()
    live.keyboard.press("b")  # in command mode, a notebook makes a cell of it
    assert live.locator(".jp-Cell").count() == before


def test_what_if_a_mark_were_gone(live, tmp_path):
    ticks = live.locator(".constviz .cv-marks input[type=checkbox]")
    assert ticks.count() == 2
    tick = live.locator(".constviz .cv-marks label", has_text="scale").locator("input")
    tick.click()
    live.locator(".constviz .cv-option", has_text="--fold mask").wait_for()
    # without the mark the number is read and guarded as before: its box is gone, the other one stays
    gone = (
        "() => ![...document.querySelectorAll('.constviz .cv-box')].some((box) => box.textContent.includes('scale()'))"
    )
    live.wait_for_function(gone)
    assert box(live, "mask", 1).count() == 1
    live.screenshot(path=str(tmp_path / "what_if.png"))
    assert run_cell(live, "report.widget.comparison.fold") == "('mask',)"
    assert run_cell(live, "f(torch.ones(2, 3)).tolist()") == "[[9.0, 6.0, 3.0], [9.0, 6.0, 3.0]]"  # 3 times column sums
    tick.click()
    live.wait_for_function("() => document.querySelector('.constviz .cv-box[aria-label*=\"scale()\"]')")


def test_a_capture_can_be_cancelled(lab, browser):
    lab.write("slow.ipynb", SLOW)
    page = opened(browser)
    run_all(page, lab.address("slow.ipynb"))
    page.locator(".constviz .cv-box").first.wait_for()
    tick = page.locator(".constviz .cv-marks label", has_text="gain").locator("input")
    tick.click()
    page.locator(".constviz[aria-busy=true]").wait_for()
    page.locator(".constviz .cv-note", has_text="running it eagerly").wait_for()
    page.locator(".constviz .cv-cancel").click()
    page.locator(".constviz .cv-note", has_text="cancelled").wait_for()
    assert tick.is_checked()  # what is shown is still the capture with all marks
    assert (
        run_cell(page, "report.widget.comparison.fold is None, f(torch.ones(3)).tolist()") == "(True, [3.0, 3.0, 3.0])"
    )
    page.close()


def test_dark_theme(live, lab, tmp_path):
    if lab.path != "lab/tree":
        pytest.skip("Notebook has no command for it")
    live.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    live.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    live.wait_for_timeout(500)
    live.screenshot(path=str(tmp_path / "dark.png"))
    ground, ink = live.evaluate(
        """() => {
            const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
            const root = document.querySelector('.constviz');
            return [light(getComputedStyle(root).backgroundColor), light(getComputedStyle(root).color)];
        }"""
    )
    assert ground < 200 and ink > 500
    live.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")


def test_groups_open_and_close(lab, browser, tmp_path):
    lab.write("deep.ipynb", DEEP)
    page = opened(browser)
    run_all(page, lab.address("deep.ipynb"))
    group = page.locator(".constviz .cv-pane").first.locator(".cv-group:not(.cv-absent)").last
    group.wait_for(state="attached")
    count = page.evaluate(COUNT)
    page.screenshot(path=str(tmp_path / "deep.png"))
    group.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({COUNT})() > {count}")
    page.screenshot(path=str(tmp_path / "open.png"))
    page.locator(".constviz").get_by_role("button", name="reset").click()
    page.wait_for_function(f"() => ({COUNT})() === {count}")
    # a hit inside of closed groups opens them
    field = page.locator(".constviz input[type=search]")
    field.fill("blocks.11.steps.8")
    field.press("Enter")
    page.locator(".constviz .cv-details", has_text="blocks.11").wait_for()
    assert not page.outside
    page.close()


def test_reopened_without_a_kernel_the_picture_is_there(live, lab, browser, tmp_path):
    saved = save(live, lab.root / "run.ipynb", lambda saved: len(saved["cells"][2]["outputs"]) == 2)
    saved["cells"] = saved["cells"][:3]
    (lab.root / "trusted.ipynb").write_text(json.dumps(saved))
    page = opened(browser)
    page.goto(lab.address("trusted.ipynb"))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    shut_down_kernel(page)
    picture = page.locator("img[alt^='constviz diagram']").first
    picture.wait_for()
    page.wait_for_timeout(1_000)
    page.screenshot(path=str(tmp_path / "reopened.png"))
    assert picture.bounding_box()["width"] > 100
    assert "constant bytes" in page.locator(".jp-Cell").nth(2).inner_text()
    assert not page.outside
    page.close()
