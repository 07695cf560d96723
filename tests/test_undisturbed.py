"""A program computes, draws and trains bit for bit the same with and without the watch and ``%%constfold``."""

from __future__ import annotations

import itertools

import pytest
from shells import Shell

PROGRAM = """\
import random, numpy as np, torch
torch.compiler.reset()
random.seed(1); np.random.seed(2); torch.manual_seed(3)
SETTINGS, CALLS = {"scale": 0.5}, []

@torch.compiler.assume_constant_result
def scale():
    CALLS.append(random.random() + np.random.rand() + torch.rand(()).item())
    return SETTINGS["scale"]

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 2)
        self.temperature = 2.0
    @torch.compiler.assume_constant_result
    def inverse(self):
        return 1 / self.temperature
    def forward(self, x):
        x = torch.nn.functional.dropout(self.norm(torch.relu(self.first(x))), 0.3)
        return self.last(x * scale()) * self.inverse()

net = Net()
model, losses = torch.compile(net, backend="aot_eager"), []
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
"""
TRAIN = """\
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""
CHANGES = ('SETTINGS["scale"] = 0.75', "net.temperature = 4.0", "torch.compiler.reset()", 'SETTINGS["scale"] = 0.25')


def outcome(shell: Shell) -> list:
    names = shell.ip.user_ns
    tensors = {**names["net"].state_dict(), **{n: p.grad for n, p in names["net"].named_parameters()}}
    state = names["optimizer"].state_dict()["state"]
    moments = [value for one in state.values() for value in one.values()]
    random, np, torch = names["random"], names["np"], names["torch"]
    return [
        names["losses"], names["CALLS"],
        [t.detach().numpy().tobytes() for t in (*tensors.values(), *moments)],
        random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().numpy().tobytes(),
    ]  # fmt: skip


def run(watched: bool, folded: str) -> tuple[list, str]:
    shell = Shell()
    try:
        said = [shell.run("%constviz watch").stdout] if watched else []
        for cell in [PROGRAM, *itertools.chain.from_iterable((folded + TRAIN, change) for change in (*CHANGES, ""))]:
            ran = shell.run(cell)
            assert ran.error is None, ran.traceback
            said.append(ran.stdout)
        return outcome(shell), "".join(said)
    finally:
        shell.close()


@pytest.mark.parametrize("watched", [False, True], ids=["unwatched", "watched"])
@pytest.mark.parametrize("folded", ["", "%%constfold -q\n", "%%constfold -q --no-probe\n"])
def test_bit_for_bit(watched, folded):
    plain, _ = run(False, "")
    disturbed, said = run(watched, folded)
    assert disturbed == plain
    assert ("goes on with" in said) == (watched and bool(folded))
