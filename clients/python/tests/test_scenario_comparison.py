"""Tests that the comparison of scenarios notices each kind of difference."""

import unittest
from typing import Any

from scenario_runner import difference

GOT: dict[str, Any] = {"results": [{"object": "1.0", "violations": [{"type": "a"}]}, {"error": {"code": "NOT_FOUND"}}]}
NOT_FOUND = {"error": {"code": "NOT_FOUND"}}


class ComparisonTest(unittest.TestCase):
    def test_equal(self) -> None:
        for expected in (
            {"results": [{"object": "1.0"}, NOT_FOUND]},
            {"results": [{"object": "1.0", "storedObject": None}, {"error": {}}]},
            {"count": 2, "results": [{"object": "1.0"}, {"error": {}}]},
        ):
            self.assertIsNone(difference(expected, GOT), expected)

    def test_different(self) -> None:
        for expected in (
            {"results": [{"object": "1"}, NOT_FOUND]},
            {"results": [{"object": "1.0"}]},
            {"results": [{"object": "1.0"}, {}]},
            {"results": [{"object": None}, {"error": {}}]},
            {"results": [{"violations": []}, {"error": {}}]},
            {"results": [{"violations": [{"type": "b"}]}, {"error": {}}]},
            {"results": [{"warnings": []}, {"error": {}}]},
            NOT_FOUND,
            {"count": 3, "results": [{"object": "1.0"}, {"error": {}}]},
            {"count": 2, "results": [{"object": "1.0"}]},
        ):
            self.assertIsNotNone(difference(expected, GOT), expected)
        self.assertIsNotNone(difference({"allowed": True}, {"allowed": 1}))


if __name__ == "__main__":
    unittest.main()
