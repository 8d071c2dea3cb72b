/**
 * difference returns the path of the first difference between a step's `expect` and its outcome, or undefined.
 * clients/scenarios/README.md defines the comparison.
 */
export function difference(expected: unknown, got: unknown): string | undefined {
  if (Array.isArray(expected)) {
    return repeats(expected, got, expected.length);
  }
  if (typeof expected !== "object" || expected === null) {
    return Object.is(expected, got) ? undefined : "";
  }
  if (typeof got !== "object" || got === null || Array.isArray(got)) {
    return "";
  }
  const want = expected as Record<string, unknown>;
  const have = got as Record<string, unknown>;
  if (want["error"] === undefined && have["error"] !== undefined) {
    return ".error";
  }
  if (typeof want["count"] === "number") {
    return prefixed(".results", repeats(want["results"] as unknown[], have["results"], want["count"]));
  }
  for (const [key, value] of Object.entries(want)) {
    const at = value === null ? (key in have ? "" : undefined) : difference(value, have[key]);
    if (at !== undefined) {
      return `.${key}${at}`;
    }
  }
  return undefined;
}

function repeats(expected: unknown[], got: unknown, count: number): string | undefined {
  if (!Array.isArray(got) || got.length !== count) {
    return `.length (${Array.isArray(got) ? got.length : "no list"}, not ${count})`;
  }
  for (const [i, element] of got.entries()) {
    const at = prefixed(`[${i}]`, difference(expected[i % expected.length], element));
    if (at !== undefined) {
      return at;
    }
  }
  return undefined;
}

function prefixed(prefix: string, at: string | undefined): string | undefined {
  return at === undefined ? undefined : prefix + at;
}
