"""`rosenblatt demo`: one run on the breast-cancer data that comes with scikit-learn, and its four readings."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from rosenblatt.estimators.online import READINGS
from rosenblatt.estimators.perceptron import Perceptron

MEANINGS = {
    "last": "the weights after the last update",
    "pocket": "the fewest training errors of all",
    "average": "the mean over every row visited",
    "vote": "all hypotheses, by majority",
}


def run_demo(seed: int) -> None:
    console = Console()
    data = load_breast_cancer()
    X, X_test, y, y_test = train_test_split(data.data, data.target, test_size=0.25, random_state=0, stratify=data.target)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    rows, columns = X.shape
    console.print(
        f"[bold]Breast cancer, benign or malignant[/]: {rows} rows to learn from, {len(X_test)} to test, {columns} columns"
    )

    started = time.perf_counter()
    model = Perceptron(random_state=seed).fit(X, y)
    seconds = time.perf_counter() - started
    console.print(
        f"[bold]{model}[/] made {model.n_updates_} updates in {model.n_iter_} passes ({seconds:.2f} s, compiling included)"
    )
    console.print(f"[bold]It stopped[/] because: {model.stop_.sentence}\n")

    table = Table(title="One run, four readings", title_style="bold")
    for heading in ("reading", "which hypothesis", "training errors", "test errors", "test accuracy"):
        table.add_column(heading, justify="left" if heading in ("reading", "which hypothesis") else "right")
    readings = {keep: model.reading(keep) for keep in READINGS}
    wrong = {keep: int((reading.predict(X_test) != y_test).sum()) for keep, reading in readings.items()}
    for keep, reading in readings.items():
        style = "bold green" if wrong[keep] == min(wrong.values()) else ""
        training = int((reading.predict(X) != y).sum())
        accuracy = f"{1 - wrong[keep] / len(y_test):.1%}"
        table.add_row(keep, MEANINGS[keep], str(training), str(wrong[keep]), accuracy, style=style)
    console.print(table)

    heaviest = abs(readings["average"].coef_[0]).argsort()[::-1][:5]
    names = ", ".join(f"{data.feature_names[j]} ({readings['average'].coef_[0, j]:+.1f})" for j in heaviest)
    console.print(f"\n[bold]Heaviest features of the average[/] (+ speaks for benign): {names}")
    log = model.log_
    assert log is not None
    first = log[0]
    console.print(
        f"[bold]The log[/] has every update; the first one: row {first.row}, step {first.step:g}, at visit {first.time}"
    )
