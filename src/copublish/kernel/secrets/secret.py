"""A value that no party sees."""

from __future__ import annotations

from typing import NoReturn

from copublish.errors import SecretCannotBeReadError


class Secret:
    """A handle on integers that no party sees. Its shape is public, its values cannot be read."""

    __slots__ = ("_handle", "shape")

    def __init__(self, handle: object, shape: tuple[int, ...]) -> None:
        self._handle = handle
        self.shape = shape

    def __repr__(self) -> str:
        return f"Secret(shape={self.shape})"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise SecretCannotBeReadError("A secret cannot be read, compared or pickled; use the reveal gate.")

    __array__ = __bool__ = __int__ = __float__ = __index__ = __iter__ = __len__ = __getitem__ = _refuse
    __reduce_ex__ = _refuse

    def __eq__(self, other: object) -> bool:
        self._refuse()

    __hash__ = None  # type: ignore[assignment]  # a secret is no key
