"""Locks, private scratch folders and the exchange of files on one machine.

May hold: paths and bytes. It knows no agreement, no data and no network.
"""
