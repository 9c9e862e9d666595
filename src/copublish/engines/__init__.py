"""Engines that compute on secrets: the ideal engine, masked sums, SPU; and the ways to compare people.

May hold: shares of secrets. What is opened goes through the gate of the kernel.
"""
