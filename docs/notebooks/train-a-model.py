# %% [markdown]
# # Train a model
#
# Train on a release, test on records that were not in it. `marginals` is made for this: synthetic records that keep
# what columns say about the class ([which mechanism](../which-mechanism.md)).

# %%
import copublish as cp

agreement = cp.load_agreement("demo/agreement.toml")

# %% [markdown]
# ## Keep some people aside
#
# To know how good a model is, you need people who are not in the release. These are made up, so we may do it here;
# between organizations everybody keeps some of its own people aside before the run.

# %%
import pandas as pd

bank, loans = pd.read_parquet("demo/bank.parquet"), pd.read_csv("demo/loans.csv")
people = bank.merge(loans.drop(columns="default"), on="customer_id")
test = people.sample(frac=0.25, random_state=0)
is_test = bank["customer_id"].isin(test["customer_id"]), loans["customer_id"].isin(test["customer_id"])
release = cp.simulate(agreement, {"bank": bank[~is_test[0]], "loans": loans[~is_test[1]]})
release

# %% [markdown]
# ## Train a classifier on the records
#
# They look like the real ones, and belong to nobody.

# %%
records = release.to_pandas()
records.head()

# %%
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

numbers, categories = ["age", "balance", "amount", "months"], ["job", "purpose"]


def trained_on(table):
    columns = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
    return make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(table[numbers + categories], table["default"])


def area_of(model):
    return roc_auc_score(test["default"] == "yes", model.predict_proba(test[numbers + categories])[:, 1])


train = people.drop(test.index)
print(f"trained on the release: area under the ROC curve {area_of(trained_on(records)):.3f}")
print(f"trained on real records: {area_of(trained_on(train)):.3f}")

# %% [markdown]
# An area of 0.5 is guessing, 1 is perfect. How far the first lies below the second is what privacy costs here.
#
# ## The same by one call
#
# `evaluate` trains on the release, on real records and on a trivial baseline with the same budget, and has standard
# errors. **Its scores are a disclosure:** they are computed from real records without noise, and no ledger is charged.
# Keep them inside.

# %%
scores = cp.evaluate(release, test, raw=train, classifiers=["logistic-regression"])
scores

# %% [markdown]
# ## What to know
#
# - **Choose before you look.** Each model that you try on the test records wears them out; it costs no budget, because
#   the release is public by then.
# - **A missing job** is a category of its own here. [Missing values](../missing-values.md) says how to change that.
# - **A second release is a new charge.** More columns, another class: ask the [ledger](../budgets.md) first.
