"""Run by test_writing.py: a child saves model A and model B in turn and is killed, again and again; a line for each kill."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from rosenblatt.models.files import load, save
from rosenblatt.models.model import Model


def model(value: float) -> Model:
    return Model("Perceptron", {}, np.array([0, 1]), np.full((1, 20_000), value), np.zeros(1))


def main(folder: str, kills: int) -> None:
    path = Path(folder) / "model.safetensors"
    both = [model(1.0), model(2.0)]
    save(both[0], path)
    random.seed(5)
    for turn in range(kills):
        child = os.fork()
        if child == 0:
            while True:
                for place in (0, 1):
                    save(both[(place + turn) % 2], path)
        time.sleep(random.uniform(0.0005, 0.025))  # a kill at any moment of the work: no event marks it
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = load(path).coef
        assert found.shape == (1, 20_000)
        assert (found == found[0, 0]).all()
        left = len([name for name in os.listdir(folder) if name.endswith(".rosenblatt-tmp")])
        sys.stdout.write(f"{found[0, 0]:g} {left}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
