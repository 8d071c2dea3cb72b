import assert from "node:assert/strict";
import test from "node:test";
import { difference } from "../scenarios/difference.js";

test("the comparison of scenarios notices each kind of difference", () => {
  const got = { results: [{ object: "1.0", violations: [{ type: "a" }] }, { error: { code: "NOT_FOUND" } }] };
  for (const [expected, at] of [
    [{ results: [{ object: "1.0" }, { error: { code: "NOT_FOUND" } }] }, undefined],
    [{ results: [{ object: "1.0", storedObject: null }, { error: {} }] }, undefined],
    [{ count: 2, results: [{ object: "1.0" }, { error: {} }] }, undefined],
    [{ results: [{ object: "1" }, { error: {} }] }, ".results[0].object"],
    [{ results: [{ object: "1.0" }] }, ".results.length (2, not 1)"],
    [{ results: [{ object: "1.0" }, {}] }, ".results[1].error"],
    [{ results: [{ object: null }, { error: {} }] }, ".results[0].object"],
    [{ results: [{ violations: [] }, { error: {} }] }, ".results[0].violations.length (1, not 0)"],
    [{ results: [{ violations: [{ type: "b" }] }, { error: {} }] }, ".results[0].violations[0].type"],
    [{ results: [{ warnings: [] }, { error: {} }] }, ".results[0].warnings.length (no list, not 0)"],
    [{ error: { code: "NOT_FOUND" } }, ".error"],
    [{ count: 3, results: [{ object: "1.0" }, { error: {} }] }, ".results.length (2, not 3)"],
  ] as const) {
    assert.equal(difference(expected, got), at, JSON.stringify(expected));
  }
});
