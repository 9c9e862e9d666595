"""What every part of an agreement is: a model that cannot be changed and knows all of its keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of an agreement."""

    model_config = ConfigDict(frozen=True, extra="forbid")
