# One image for every role: a party (copublish run), a relay (copublish relay), and everything else the command does.
# To build on bytes that you know, name them: --build-arg BASE=python:3.11-slim@sha256:...
ARG BASE=python:3.11-slim
FROM ${BASE}

# The secure engine's libraries are linked with OpenMP, which the slim image leaves out.
RUN apt-get update && apt-get install --no-install-recommends --yes libgomp1 && rm -rf /var/lib/apt/lists/*

# The parties' files are theirs: nothing here runs as root.
RUN useradd --no-create-home --uid 10001 copublish

WORKDIR /opt/copublish
COPY pyproject.toml README.md LICENSE requirements-image.txt ./
COPY src ./src
# Libraries by the hashes of their files; the package itself needs nothing else then.
RUN pip install --no-cache-dir --require-hashes --requirement requirements-image.txt && pip install --no-cache-dir --no-deps .

# Data, agreement, ledger, key and release are in a folder of the host that is mounted here; none is in the image.
WORKDIR /party
ENV COPUBLISH_HOME=/party/copublish
USER copublish
ENTRYPOINT ["copublish"]
CMD ["--help"]
