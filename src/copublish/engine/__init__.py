"""Secret values and the engines that compute on them. Values come out through `reveal.py` alone."""

from copublish.engine.ideal import IdealEngine, Room
from copublish.engine.interface import Engine, Secret

__all__ = ["Engine", "IdealEngine", "Room", "Secret"]
