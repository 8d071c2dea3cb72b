import assert from "node:assert/strict";
import test from "node:test";
import { Client, CrdevalError, updateObject } from "../../src/node.js";
import { Client as BrowserClient } from "../../src/browser.js";
import { textOf, toDocument } from "../../src/document.js";

const info = JSON.stringify({ limits: { maxBatchItems: 1000, maxMessageBytes: 67108864, maxRegisterCrds: 1000 } });

interface Sent {
  url: string;
  type: string | null;
  body: string;
  headers: Headers;
}

/** served returns a client and the requests that it sends. answer returns the body of a response and its status. */
function served(answer: (sent: Sent) => [string, number?, Record<string, string>?], maxAttempts = 5) {
  const sent: Sent[] = [];
  const client = new BrowserClient({
    retries: { maxAttempts, firstPauseMs: 1 },
    url: "/base/",
    token: "t",
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers);
      const request = { url: String(url), type: headers.get("content-type"), body: String(init?.body ?? ""), headers };
      if (request.url.endsWith("/serverInfo")) {
        return new Response(info);
      }
      sent.push(request);
      const [body, status, more] = answer(request);
      const type = { "content-type": "application/json" };
      return new Response(status === 304 ? null : body, { status: status ?? 200, headers: { ...type, ...more } });
    },
  });
  return { client, sent };
}

const allowed = { verdict: { allowed: true } };

test("documents keep their text in requests and responses", async () => {
  const { client, sent } = served(() => [
    '{"results":[{"transformed":{"object":{"a": 1.0,"b":9007199254740993},"changed":true}},{"transformed":{"object":null}}]}',
  ]);
  const results = await client.prune(['{"a": 1.0, "json":"YQ=="}', { json: "YQ==", b: 9007199254740993n }]);
  assert.equal(results[0]?.object?.text, '{"a": 1.0,"b":9007199254740993}');
  assert.equal(results[1]?.object?.text, "null");
  const [request] = sent;
  assert.equal(request?.url, "/base/v1/catalogs/default:prune");
  assert.equal(request.headers.get("authorization"), "Bearer t");
  assert.ok(
    request.body.includes('{"a": 1.0, "json":"YQ=="}') && request.body.includes('{"json":"YQ==","b":9007199254740993}'),
  );
});

test("positions refer to the document", async () => {
  const object = '{"a":\n "b"}';
  const { client } = served(({ body, type }) => {
    const before = body.slice(0, body.lastIndexOf('"b"'));
    const line = before.split("\n").length;
    const column = before.length - before.lastIndexOf("\n");
    const position = { line, column, offset: before.length };
    return [
      JSON.stringify({
        results: (type === "application/json" ? [1, 2] : [1]).map(() => ({ verdict: { violations: [{ position }] } })),
      }),
    ];
  });
  const [, json] = await client.validate([{ x: 1 }, object]);
  assert.deepEqual(json?.violations[0]?.position, { line: 2, column: 2, offset: 7 });
  const [yaml] = await client.validate(['a:\n  "b"\n']);
  assert.deepEqual(yaml?.violations[0]?.position, { line: 2, column: 3, offset: 5 });
});

test("each YAML document has a request of its own", async () => {
  const { client, sent } = served(({ body }) => [
    JSON.stringify({ results: body.startsWith("{") ? [allowed, allowed] : [{ verdict: { allowed: false } }] }),
  ]);
  const verdicts = await client.validate(["{}", "--- \na: n\n", "[]"]);
  assert.deepEqual(
    verdicts.map((v) => v.allowed),
    [true, false, true],
  );
  assert.deepEqual(
    sent.map((s) => s.type),
    ["application/json", "application/yaml"],
  );
  assert.equal(sent[1]?.body, '\n"items":\n  -\n    "create":\n      "object":\n        #\n        a: n\n"context":\n  "options": {}\n');
});

const overloaded: [string, number] = [
  JSON.stringify({
    code: 14,
    message: "busy",
    details: [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", domain: "crdeval.dev", reason: "OVERLOADED" },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0s" },
    ],
  }),
  503,
];

test("only the failed request of a call is repeated", async () => {
  let failures = 2;
  const { client, sent } = served(({ body }) =>
    body.includes("b: 2") && failures-- > 0
      ? overloaded
      : [JSON.stringify({ results: [{ verdict: { allowed: body.includes("b: 2") } }] })],
  );
  const verdicts = await client.validate(["{}", "a: 1", "b: 2"]);
  assert.deepEqual(
    verdicts.map((v) => v.allowed),
    [false, false, true],
  );
  assert.deepEqual(
    sent.map(({ body }) => /[ab]: \d|\{\}/.exec(body)?.[0]),
    ["{}", "a: 1", "b: 2", "b: 2", "b: 2"],
  );
});

test("the error of a later request has the results and the token of the earlier ones", async () => {
  const failing = (result: object) =>
    served(
      ({ body }) =>
        body.includes("b: 2")
          ? overloaded
          : [JSON.stringify({ results: Array(body.startsWith("{") ? 2 : 1).fill(result), token: "t1" })],
      1,
    ).client;
  const writer = failing({ crd: "a", registration: { accepted: true } });
  const registering = writer.register(["a: 1", "b: 2"]);
  await assert.rejects(registering, (e) => e instanceof CrdevalError && e.registered[0]?.name === "a");
  assert.equal(writer.atLeast, "t1");
  const reader = failing(allowed);
  await assert.rejects(reader.validate(["{}", "a: 1", "b: 2", "{}"]), (e) => {
    return e instanceof CrdevalError && e.reason === "OVERLOADED" && e.verdicts.length === 2;
  });
  let streamed = 0;
  const streaming = async () => {
    for await (const verdict of reader.admitStream(["a: 1", "a: 1", "b: 2"])) {
      streamed += Number(verdict.allowed);
    }
  };
  await assert.rejects(streaming(), CrdevalError);
  assert.equal(streamed, 2);
});

test("the deadline applies to all requests of a stream together", async (t) => {
  const { client, sent } = served(() => [JSON.stringify({ results: [allowed] })]);
  let now = Date.now();
  t.mock.method(Date, "now", () => now);
  let answered = () => {};
  const first = new Promise<void>((resolve) => (answered = resolve));
  const source = async function* () {
    yield "a: 1";
    await first;
    now += 5000;
    yield "b: 2";
  };
  for await (const _ of client.admitStream(source(), { timeoutMs: 60_000 })) answered();
  assert.deepEqual(
    sent.map(({ headers }) => headers.get("grpc-timeout")),
    ["60000m", "55000m"],
  );
});

test("a YAML document gets no further line", async () => {
  const { client, sent } = served(() => [JSON.stringify({ results: [allowed] })]);
  await client.validate(["a: |+\n  x\n\n", "a: x", ""]);
  assert.deepEqual(
    sent.map(({ body }) => /"object":\n(.*)"context"/s.exec(body)?.[1]),
    ["        a: |+\n          x\n        \n", "        a: x\n", "\n"],
  );
});

test("only line feeds begin lines of a YAML document", async () => {
  const { client, sent } = served(() => [JSON.stringify({ results: [allowed] })]);
  await client.validate(["a: |\r\n  x\r\n  \u2028y\n"]);
  assert.ok(sent[0]?.body.includes("        a: |\r\n          x\r\n          \u2028y\n"), sent[0]?.body);
});

test("a document that cannot be part of a body has its own error", async () => {
  const { client, sent } = served(() => [JSON.stringify({ results: [allowed] })]);
  const verdicts = await client.validate([
    '{"a":1}},{"object":{}',
    "{}",
    new Uint8Array([0x7b, 0xff, 0x7d]),
    "a: 1\n---\nb: 2\n",
    "%YAML 1.1\n---\na: 1",
    updateObject("{}", "a: 1"),
  ]);
  assert.deepEqual(
    verdicts.map((v) => v.error?.reason),
    ["OBJECT_UNREADABLE", undefined, ...Array<string>(4).fill("OBJECT_UNREADABLE")],
  );
  assert.equal(verdicts[0]?.error?.metadata["column"], "8");
  assert.equal(verdicts[1]?.allowed, true);
  assert.equal(sent.length, 1);
});

test("a body can be one field of a response", async () => {
  const scale = '{"kind":"Scale", "spec":{"replicas":9007199254740993,"x":1.0}}';
  const { client, sent } = served(() => [`${scale}\n`]);
  const object = toDocument('{"a": 1.0}');
  const found = await client.presentation.getScale({ context: { catalog: "c" }, object });
  assert.equal(textOf(found.scale), scale);
  assert.equal(sent[0]?.url, "/base/v1/catalogs/c:getScale");
  assert.ok(sent[0].body.includes('{"a": 1.0}'));
  await assert.rejects(
    client.presentation.getScale({ context: { catalog: "c" }, object: toDocument("{") }),
    (e) => (CrdevalError.from(e) as CrdevalError).reason === "OBJECT_UNREADABLE",
  );

  const warned = served(() => ['{"a":1}', 200, { warning: '299 - "a \\"b\\"", 299 - "c"' }]).client;
  const set = await warned.presentation.setScale({ context: { catalog: "c" }, object: toDocument("{}"), scale: toDocument("{}") });
  assert.deepEqual([textOf(set.object), set.warnings.map((w) => w.text)], ['{"a":1}', ['a "b"', "c"]]);
});

test("a rejection is a result, and other statuses are errors", async () => {
  const status = { kind: "Status", status: "Failure", message: "no scale", reason: "NotFound", code: 404 };
  const { client } = served(() => [JSON.stringify(status), 404]);
  const { rejection } = await client.presentation.getScale({ context: { catalog: "c" }, object: toDocument("{}") });
  assert.deepEqual([rejection?.code, rejection?.reason, rejection?.message], [404, "NotFound", "no scale"]);
  await assert.rejects(client.presentation.discover({ catalog: "c", group: "a" }), (e) => {
    const error = CrdevalError.from(e) as CrdevalError;
    return error.code === "NOT_FOUND" && error.message === "no scale";
  });
});

test("the path is the longest one whose variables are set", async () => {
  const { client, sent } = served(() => ['{"a":1}', 200, { etag: '"e"' }]);
  const { document, etag } = await client.presentation.getOpenApi({ catalog: "c", spec: "v3" });
  assert.deepEqual([textOf(document), etag], ['{"a":1}', '"e"']);
  await client.presentation.getOpenApi({ catalog: "c", spec: "v3", group: "a.b", version: "v1" });
  await client.presentation.discover({ catalog: "c", group: "a.b" });
  assert.deepEqual(
    sent.map((s) => s.url),
    ["openapi/v3", "openapi/v3/apis/a.b/v1", "apis/a.b"].map((path) => `/base/v1/catalogs/c/${path}`),
  );
  const unchanged = served(() => ["", 304, { etag: '"e"' }]).client;
  const same = await unchanged.presentation.getOpenApi({ catalog: "c", spec: "v3", ifNoneMatch: '"e"' });
  assert.deepEqual([same.document, same.etag], [undefined, '"e"']);
});

test("errors are decoded, also those of proxies", async () => {
  const status = {
    code: 14,
    message: "busy",
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        domain: "crdeval.dev",
        reason: "STORE_UNAVAILABLE",
        metadata: { a: "b" },
      },
    ],
  };
  const { client } = served(() => [JSON.stringify(status), 503]);
  await assert.rejects(
    client.deleteCrd("a/b"),
    (e) =>
      e instanceof CrdevalError &&
      e.code === "UNAVAILABLE" &&
      e.reason === "STORE_UNAVAILABLE" &&
      e.metadata["a"] === "b",
  );
  for (const [text, code] of [
    ["<html>", 502],
    ["", 404],
    ["not json", 200],
  ] as const) {
    const { client } = served(() => [text, code]);
    await assert.rejects(client.getCrd("a"), (e) => e instanceof CrdevalError && e.reason === undefined);
  }
});

test("paths and queries are escaped", async () => {
  const { client, sent } = served(() => ["{}"]);
  await client.deleteCrd("a/b?c");
  assert.equal(sent[0]?.url, "/base/v1/catalogs/default/crds/a%2Fb%3Fc");
  client.atLeast = "x&y";
  for await (const _ of client.listCrds({ pageSize: 2 })) assert.fail(String(_));
  assert.equal(sent[1]?.url, "/base/v1/catalogs/default/crds?pageSize=2&atLeast=x%26y");
  await assert.rejects(client.deleteCrd(""), (e) => e instanceof CrdevalError && e.code === "INVALID_ARGUMENT");
});

test("a watch reads lines in pieces", async () => {
  const lines =
    '{"type":"WATCH_EVENT_TYPE_ADDED","crd":{"name":"é"}}\n  {"type":"WATCH_EVENT_TYPE_SYNCED","token":"t"}\n';
  const bytes = new TextEncoder().encode(lines);
  const client = new BrowserClient({
    url: "",
    fetch: () =>
      Promise.resolve(
        new Response(
          new ReadableStream({
            start(c) {
              bytes.forEach((b) => c.enqueue(new Uint8Array([b])));
            },
          }),
        ),
      ),
  });
  const events: string[] = [];
  for await (const e of client.watch()) {
    events.push(`${e.type} ${e.crd?.name ?? ""}`);
    if (e.type === "SYNCED") break;
  }
  assert.deepEqual(events, ["ADDED é", "SYNCED "]);
});

test("deadlines and signals abort requests", async () => {
  const hanging = new BrowserClient({
    url: "http://127.0.0.1",
    fetch: (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error))),
  });
  const alive = setInterval(() => undefined, 1000); // the timer of a deadline does not keep Node.js running
  await assert.rejects(
    hanging.deleteCrd("a", { timeoutMs: 5 }),
    (e) => e instanceof CrdevalError && e.code === "DEADLINE_EXCEEDED",
  );
  await assert.rejects(hanging.deleteCrd("a", { signal: AbortSignal.abort() }), (e) => e instanceof CrdevalError);
  clearInterval(alive);
  const lost = new BrowserClient({ url: "http://127.0.0.1:1" });
  await assert.rejects(lost.deleteCrd("a"), (e) => e instanceof CrdevalError && e.code === "UNAVAILABLE");
});

test("wrong addresses and tokens are errors", () => {
  for (const address of ["", "http://localhost:1", "a b", "localhost:1/x", "localhost"]) {
    assert.throws(() => new Client({ address }), TypeError, address);
  }
  assert.throws(() => new Client({ address: "example.com:1", token: "t" }), /plain text/);
  for (const token of ["t\n", "t\0", "ä"]) {
    assert.throws(() => new Client({ address: "localhost:1", token }), /printable ASCII/);
  }
  assert.throws(() => new Client({ address: "unix:/a", tls: true }), TypeError);
  assert.throws(() => new Client({ url: "localhost:8080" }), /does not begin with http/);
  assert.throws(() => new Client({ url: "http://example.com", token: "t" }), /plain text/);
  for (const url of ["https://example.com", "http://127.0.0.1:1", "", "/base"]) {
    new Client({ url, token: "t" }).close();
  }
  assert.throws(() => new Client({} as { url: string }), /needs the option/);
  new Client({ address: "example.com:1", token: "t", tls: true }).close();
});

test("a closed client makes no calls", async () => {
  const { client, sent } = served(() => ["{}"]);
  client.close();
  await assert.rejects(client.deleteCrd("a"), (e) => e instanceof CrdevalError && e.message === "the client is closed");
  await assert.rejects(client.watch().next(), (e) => e instanceof CrdevalError && e.code === "CANCELLED");
  assert.equal(sent.length, 0);
});

test("close ends calls in progress", async () => {
  const line = new TextEncoder().encode('{"type":"WATCH_EVENT_TYPE_SYNCED","token":"t"}\n');
  const client = new BrowserClient({
    url: "",
    fetch: (url, init) =>
      new Promise((resolve, reject) => {
        const body = new ReadableStream({
          start(c) {
            c.enqueue(line);
            init?.signal?.addEventListener("abort", () => {
              c.error(init.signal?.reason);
              reject(init.signal?.reason as Error);
            });
          },
        });
        if (String(url).includes(":watch")) resolve(new Response(body));
      }),
  });
  const watch = client.watch();
  assert.equal((await watch.next()).value?.type, "SYNCED");
  const calls = [watch.next(), client.deleteCrd("a")];
  const errors = Promise.allSettled(calls);
  client.close();
  for (const result of await errors) {
    assert.ok(result.status === "rejected" && result.reason instanceof CrdevalError);
    assert.deepEqual([result.reason.code, result.reason.message], ["CANCELLED", "the client is closed"]);
  }
});

test("one document instead of a list is an error", async () => {
  const { client } = served(() => ["{}"]);
  for (const method of ["validate", "prune", "register"] as const) {
    await assert.rejects(client[method]("{}" as unknown as string[]), /give a list/);
  }
});
