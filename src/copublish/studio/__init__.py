"""The page of `copublish studio`: forms and views for one person on this machine.

May hold: what the public names of `copublish` return. It imports nothing else.
"""
