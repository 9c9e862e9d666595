"""Microaggregation as a loop over lists, to compare with."""

from __future__ import annotations


def naive_centroids(values: list[float], k: int) -> list[float]:
    """Sort, cut into n // k clusters of k with the rest in the last, average: the paper's Algorithm 1."""
    ordered = sorted(values)
    n_clusters = len(ordered) // k
    clusters = [ordered[c * k : (c + 1) * k] for c in range(n_clusters)]
    clusters[-1] = ordered[(n_clusters - 1) * k :]
    return [sum(cluster) / len(cluster) for cluster in clusters]
