import assert from "node:assert/strict";
import test from "node:test";
import { JsonSyntaxError, JsonText, parseJson, stringifyJson } from "../../src/node.js";

test("integers keep all digits", () => {
  const text = '{"a":9007199254740993,"b":[-9223372036854775808,9007199254740991],"c":12345678901234567890}';
  const value = parseJson(text);
  assert.deepEqual(value, {
    a: 9007199254740993n,
    b: [-9223372036854775808n, 9007199254740991],
    c: 12345678901234567890n,
  });
  assert.equal(stringifyJson(value), text);
});

test("other values are as those of JSON.parse", () => {
  for (const text of [
    "null",
    " true ",
    "-0",
    "1.0",
    "1e2",
    "0.1",
    '"\\u00fc\\n😀"',
    "[]",
    "{}",
    '{"a":{"b":[1,{"c":null}]},"a":2}',
    '[[],{"":""}]',
  ]) {
    assert.deepEqual(parseJson(text), JSON.parse(text), text);
  }
  const proto = parseJson('{"__proto__":{"polluted":true}}') as object;
  assert.equal(Object.getPrototypeOf(proto), Object.prototype);
  assert.equal(stringifyJson(proto), '{"__proto__":{"polluted":true}}');
});

test("deep documents need no stack", () => {
  const depth = 100_000;
  let value = parseJson("[".repeat(depth) + "]".repeat(depth));
  for (let i = 1; i < depth; i++) {
    value = (value as [typeof value])[0];
  }
  assert.deepEqual(value, []);
});

test("a syntax error has its position", () => {
  for (const [text, line, column] of [
    ["", 1, 1],
    ['{"a":', 1, 6],
    ["[1,]", 1, 4],
    ["[1 2]", 1, 4],
    ['{"a" 1}', 1, 6],
    ["{a:1}", 1, 2],
    ["01", 1, 2],
    ["tru", 1, 1],
    ['"a\nb"', 1, 1],
    ['"\\x"', 1, 1],
    ["1 1", 1, 3],
    ['{\n "😀": 😀}', 2, 7],
    ["[1}", 1, 3],
    ["-", 1, 1],
    ["NaN", 1, 1],
  ] as const) {
    assert.throws(
      () => parseJson(text),
      (e) => e instanceof JsonSyntaxError && e.line === line && e.column === column,
      text,
    );
  }
});

test("values without a JSON form are errors", () => {
  for (const value of [undefined, NaN, Infinity, () => 1, Symbol("a"), { a: [() => 1] }]) {
    assert.throws(() => stringifyJson(value), TypeError);
  }
  assert.equal(
    stringifyJson({ a: undefined, b: [undefined], c: new Date(0) }),
    '{"b":[null],"c":"1970-01-01T00:00:00.000Z"}',
  );
});

test("JsonText has the text and the value", () => {
  const text = new JsonText('{"a": 1.0, "b": 9007199254740993}');
  assert.equal(String(text), '{"a": 1.0, "b": 9007199254740993}');
  assert.deepEqual(text.parse(), { a: 1, b: 9007199254740993n });
});
