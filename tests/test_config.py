"""Settings reject what they do not know."""

from typing import Any

import pytest

from graph2graph.config import Config, EncoderConfig
from graph2graph.errors import DataError


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ({"depth": 3}, r"^x: model\.encoder\.depth: unknown key$"),
        ({"width": 25, "heads": 3}, r"^x: model\.encoder: .*width 25 is not a multiple of heads 3$"),
        ({"layers": 0}, r"^x: model\.encoder\.layers: "),
    ],
)
def test_wrong_settings_are_named_in_one_line(encoder: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Config.parse({"model": {"encoder": encoder}}, "x")
    with pytest.raises(ValueError, match=next(iter(encoder))):
        EncoderConfig(**encoder)
