# %% [markdown]
# # Mean with error bars: errors and intervals
#
# A release has noise in it, and the law of that noise is public. So every number that you read off it can have an error
# bar that says how far noise moved it.

# %%
import copublish as cp

release = cp.load_release("release/")
print(release.mean("age"))

# %% [markdown]
# Two things are in such an answer. **Noise ±** is what noise does, in 95 of 100 cases. The **range** also holds what
# the agreed cells hide: of an age between two cuts nothing more is known. Here cells are nine years wide, because the
# agreement says `grid = { step = 9 }`.
#
# The same people, released with cells of three years:

# %%
import tomllib
from pathlib import Path

content = tomllib.loads(Path("demo/agreement.toml").read_text())
content["attributes"]["age"]["grid"] = {"step": 3}
fine = cp.simulate(cp.agreement_from_mapping(content), {"bank": "demo/bank.parquet", "loans": "demo/loans.csv"})
print(fine.mean("age"))

# %% [markdown]
# ## Questions that a release answers

# %%
print(fine.median("age"))
print(fine.share("default", "yes"))
print(fine.share("default", "yes", among={"purpose": "business"}))
print(fine.count({"purpose": "home"}))

# %% [markdown]
# Each answer is an `Estimate`, with the numbers for your own tables and plots:

# %%
estimate = fine.share("default", "yes")
estimate.value, estimate.standard_error, estimate.low, estimate.high, estimate.confidence

# %% [markdown]
# Other confidence, same noise: a longer interval holds more often.

# %%
for confidence in (0.5, 0.9, 0.99):
    print(confidence, fine.mean("age", confidence=confidence))

# %% [markdown]
# ## Is it right?
#
# On made-up people we may look. This is what no analyst of a real release can do:

# %%
import pandas as pd

bank, loans = pd.read_parquet("demo/bank.parquet"), pd.read_csv("demo/loans.csv")
people = bank.merge(loans.drop(columns="default"), on="customer_id")
people["age"].mean(), (people["default"] == "yes").mean()

# %% [markdown]
# [How often intervals hold](../results/coverage.md) was measured for every mechanism.
#
# ## Bars in a picture

# %%
import matplotlib.pyplot as plt

purposes = ["car", "home", "education", "business", "other"]
shares = [fine.share("default", "yes", among={"purpose": purpose}) for purpose in purposes]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
middles = [100 * share.value for share in shares]
lengths = [
    [100 * (share.value - share.low) for share in shares],
    [100 * (share.high - share.value) for share in shares],
]
axes.errorbar(purposes, middles, yerr=lengths, fmt="o", capsize=4)
axes.set_ylabel("% who default, with 95 % intervals")
figure

# %% [markdown]
# ## Any other statistic
#
# `estimate` makes the records again with fresh noise, here 50 times, and says how far your own statistic moves:

# %%
print(fine.estimate(lambda records: records["amount"].quantile(0.9), replicates=50))

# %% [markdown]
# ## What not to do
#
# - **Standard errors of usual software** on published records do not know of the noise, and are too small. Take the
#   ones above.
# - **"Too few to say"** means that noise could be most of it. The interval is then all that is possible.
# - **People may be a sample** of others. That is not in an interval: it is about the people in the joint table.
