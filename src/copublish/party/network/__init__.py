"""Connections between parties."""
