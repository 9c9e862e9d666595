"""Central AIM or MST on a table of cells. Runs in an environment of its own, which `make central-comparators` builds.

    python central_synthesis.py --folder cells --method aim --epsilon 1 --records 30000 --out records.csv

The folder has what `central_comparators.py` writes: `cells.csv`, the number of every record's cell in every column, and
`sizes.json`, how many cells each column has. What comes out has the same columns. Nothing of copublish is imported
here: the libraries' versions do not go together.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

DELTA = 1e-6
LARGEST_MODEL = 1
"""AIM's limit on its model, in megabytes."""


def synthesize(method: str, cells: pd.DataFrame, sizes: dict[str, int], epsilon: float, n_records: int) -> pd.DataFrame:
    """Return synthetic cells. dpmm draws its noise from the operating system, so no two runs are the same."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    options = {"epsilon": epsilon, "delta": DELTA, "n_jobs": 1}
    model = AIMGM(**options, max_model_size=LARGEST_MODEL) if method == "aim" else MSTGM(**options)
    model.set_domain(sizes)
    model.set_random_state(np.random.RandomState())
    model.fit(cells)
    return model.generate(n_records=n_records)[list(cells.columns)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--method", choices=["aim", "mst"], required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    cells = pd.read_csv(given.folder / "cells.csv")
    sizes = json.loads((given.folder / "sizes.json").read_text())
    synthetic = synthesize(given.method, cells, sizes, given.epsilon, given.records)
    part = given.out.with_name(given.out.name + ".part")
    synthetic.astype(int).to_csv(part, index=False)
    part.rename(given.out)  # a file with this name is complete


if __name__ == "__main__":
    main()
