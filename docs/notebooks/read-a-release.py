# %% [markdown]
# # Read a release
#
# Somebody gave you a release folder. What is in it, can you trust it, and how do you get numbers out? This notebook
# reads `release/`, which a bank and a lender made of made-up customers; put your own folder in its place. Nothing here
# touches private data, and reading costs nothing, however often you do it.

# %%
import copublish as cp

release = cp.load_release("release/")
release

# %% [markdown]
# `load_release` compares every file with its digest in the certificate and refuses a folder that was changed. [Verify a
# release](../verify.md) also checks who signed it.
#
# ## What is guaranteed
#
# The certificate says how much the release may tell about one person, by who looks and what changes.

# %%
release.certificate.epsilon.public

# %%
for sentence in release.certificate.protected:
    print("protected:", sentence)
for sentence in release.certificate.not_protected:
    print("not protected:", sentence)

# %% [markdown]
# ## What was opened
#
# Everything that left the computation, with its price and its noise. Nothing else did.

# %%
for disclosure in release.certificate.disclosures:
    print(f"{disclosure.what}: epsilon {disclosure.epsilon['add-remove']}, {disclosure.noise.law}")

# %% [markdown]
# ## The tables
#
# Which tables were measured depends on the [mechanism](../which-mechanism.md). They lie in the folder `measured/`, and
# `to_pandas`, `to_polars` and `table` (for Arrow) give them by name; without a name they give the records.

# %%
release.tables

# %%
counts = release.to_pandas(release.tables[-1])
counts.head()

# %% [markdown]
# `noisy_count` is what was measured: it can be below 0, and sums of it are right on average. `within_95_percent` is how
# far one of them is off at most in 95 of 100 cases. In the records no count is below 0. For numbers take neither of
# them by hand: ask the release, which knows the noise.

# %%
print(release.count({"default": "yes"}))

# %%
print(release.share("default", "yes"))

# %% [markdown]
# [Errors and intervals](errors-and-intervals.py) goes on with such questions, [train a model](train-a-model.py) uses
# the records.
#
# ## A page for others
#
# One HTML file that opens offline, with everything above and more:

# %%
cp.report(release).write("report.html")
