"""Algorithms that turn fragments into a release. Each reads like its paper and runs on every engine."""
