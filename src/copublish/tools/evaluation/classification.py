"""Classifiers trained on a release, or on any frame of records, and how often they are right on another frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from copublish.errors import EvaluationError
from copublish.types import FloatArray

ClassifierName = Literal["decision-tree", "logistic-regression", "histogram-boosting", "linear-svm"]
CLASSIFIERS: tuple[ClassifierName, ...] = get_args(ClassifierName)

SMALLEST_LEAF = 0.002
"""Share of the records that a leaf of a tree holds at least: smaller ones would fit noise."""


def accuracy(
    train: pd.DataFrame,
    test: pd.DataFrame,
    target: str,
    classifier: ClassifierName = "decision-tree",
    weights: str | None = None,
    seed: int = 0,
) -> float:
    """Train a classifier on one frame and return the share of another frame's records that it gets right.

    Text and categorical columns are categories, in the order of a categorical column's categories or else in
    alphabetical order; all other columns are numbers. Values of `test` that `train` does not have are allowed.

    Args:
        train: Records, or cells with their number in the column `weights`.
        test: Records with at least the same columns.
        target: The column to predict; all others, but `weights`, are features.
        classifier: Which one.
        weights: The column that says how many records a row stands for; rows that stand for none are left out.
        seed: Makes the classifiers that draw at random repeatable.

    Raises:
        EvaluationError: If there is nothing to train on or to test on, or a column is missing.
    """
    trained = fit(train, target, classifier, weights, seed)
    missing = [name for name in (*trained.features, target) if name not in test.columns]
    if missing:
        raise EvaluationError(f"The test data have no column {', '.join(map(repr, missing))}.")
    if test.empty:
        raise EvaluationError("The test data have no rows, so nothing can be tested.")
    return float(np.mean(trained.predict(test) == test[target].astype(str).to_numpy()))


def majority_accuracy(train: pd.DataFrame, test: pd.DataFrame, target: str, weights: str | None = None) -> float:
    """The accuracy of always saying the most frequent class of `train` (ties: the first in the alphabet)."""
    weight = pd.Series(1, train.index) if weights is None else train[weights]
    totals = weight.groupby(train[target].astype(str).to_numpy()).sum()
    return float(np.mean(test[target].astype(str) == totals.idxmax()))


@dataclass(frozen=True)
class Trained:
    """A trained classifier and the columns it looks at."""

    features: list[str]
    model: Any

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The class of each row, as text."""
        with threadpool_limits(1):  # as in training: beside other work threads wait for each other most of the time
            return np.asarray(self.model.predict(_plain(frame[self.features])))

    def scores(self, frame: pd.DataFrame) -> tuple[list[str], FloatArray, bool]:
        """The classes, what is said of each for every row, shape (n_rows, n_classes), and whether that are chances.

        A classifier without chances gives distances from its border: they order records, and that is all.
        """
        plain, classes = _plain(frame[self.features]), [str(value) for value in self.model.classes_]
        with threadpool_limits(1):
            if hasattr(self.model, "predict_proba"):
                return classes, np.asarray(self.model.predict_proba(plain), dtype=np.float64), True
            distances = np.asarray(self.model.decision_function(plain), dtype=np.float64)
        return classes, distances if distances.ndim == 2 else np.column_stack([-distances, distances]), False


def fit(
    train: pd.DataFrame, target: str, classifier: ClassifierName, weights: str | None = None, seed: int = 0
) -> Trained:
    """Train a classifier; `accuracy` explains the arguments.

    Raises:
        EvaluationError: If there is nothing to train on, or a column is missing.
    """
    for name in (target, *([weights] if weights else [])):
        if name not in train.columns:
            raise EvaluationError(f"The training data have no column '{name}'.")
    kept, weight = train, np.ones(len(train))
    if weights is not None:
        kept = train[train[weights] > 0]
        weight = kept[weights].to_numpy(dtype=float)
    if classifier == "histogram-boosting":  # the only one that counts rows, whatever they weigh: give it records
        times = weight.round().astype(int)
        kept, weight = kept.iloc[np.repeat(np.arange(len(kept)), times)], np.ones(int(times.sum()))
    if kept.empty:
        raise EvaluationError("The training data have no records, so nothing can be trained.")
    features = [name for name in kept.columns if name not in (target, weights)]
    classes = kept[target].astype(str).to_numpy()
    model: Any = DummyClassifier()  # says the majority: all there is to say of one class, or without a feature
    if len(set(classes)) > 1 and features:
        steps = [("encode", _encoder(kept[features], classifier)), ("classify", _new_classifier(classifier, seed))]
        with threadpool_limits(1):  # several threads are slower beside other work, and sum in changing order
            model = Pipeline(steps).fit(_plain(kept[features]), classes, classify__sample_weight=weight)
    else:
        model.fit(np.zeros((len(classes), 1)), classes, sample_weight=weight)
    return Trained(features, model)


def _new_classifier(name: ClassifierName, seed: int) -> Any:
    if name == "decision-tree":
        return DecisionTreeClassifier(min_weight_fraction_leaf=SMALLEST_LEAF, random_state=seed)
    if name == "logistic-regression":
        return LogisticRegression(max_iter=2000, random_state=seed)
    if name == "histogram-boosting":
        return HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
    if name == "linear-svm":
        return LinearSVC(dual=False, random_state=seed)
    raise EvaluationError(f"There is no classifier '{name}'. There are: {', '.join(CLASSIFIERS)}.")


def _encoder(features: pd.DataFrame, classifier: ClassifierName) -> ColumnTransformer:
    """The encoding: ordered codes for trees, which split them; one column per value for linear classifiers."""
    numbers = [name for name in features if _is_number(features[name])]
    texts = [name for name in features if not _is_number(features[name])]
    categories = [_categories(features[name]) for name in texts]
    if classifier in ("logistic-regression", "linear-svm"):
        encode: Any = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
        scale: Any = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    else:
        encode = OrdinalEncoder(categories=categories, handle_unknown="use_encoded_value", unknown_value=-1)
        scale = "passthrough"
    return ColumnTransformer([("categories", encode, texts), ("numbers", scale, numbers)])


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _categories(column: pd.Series) -> list[str]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [str(value) for value in column.cat.categories]
    return sorted(column.astype(str).unique())


def _plain(features: pd.DataFrame) -> pd.DataFrame:
    """Categories as text, which is what the encoders compare."""
    return features.assign(
        **{str(name): features[name].astype(str).astype(object) for name in features if not _is_number(features[name])}
    )
