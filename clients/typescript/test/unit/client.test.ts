import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { Code, ConnectError, type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { BaseClient, type CommonOptions, CrdevalError, type DocumentInput, updateObject } from "../../src/node.js";
import { fitting } from "../../src/client.js";
import { textOf } from "../../src/document.js";
import { EvaluationService, type WriteItem } from "../../src/gen/crdeval/v1/evaluation_pb.js";
import { RegistryService, WatchEventType } from "../../src/gen/crdeval/v1/registry_pb.js";
import { ServerService } from "../../src/gen/crdeval/v1/server_pb.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.js";

class TestClient extends BaseClient {
  constructor(routes: (router: ConnectRouter) => void, options: CommonOptions = {}) {
    super(createRouterTransport(routes), options, true);
  }
}

function limits(router: ConnectRouter, maxBatchItems = 3, maxMessageBytes = 1 << 20): void {
  router.service(ServerService, {
    getServerInfo: () => ({ limits: { maxBatchItems, maxMessageBytes, maxRegisterCrds: 2 } }),
  });
}

function overloaded(delayMs: number): ConnectError {
  return new ConnectError("busy", Code.Unavailable, undefined, [
    { desc: ErrorInfoSchema, value: { domain: "crdeval.dev", reason: "OVERLOADED", metadata: { limit: "a" } } },
    { desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(Math.floor(delayMs / 1000)), nanos: (delayMs % 1000) * 1e6 } } },
  ]);
}

/** echo answers each item with its name as the revision. */
function echo(items: WriteItem[]) {
  const objectOf = ({ write: w }: WriteItem) => (w.case === "create" ? textOf(w.value.object) : undefined);
  const revision = (i: WriteItem) => (JSON.parse(objectOf(i) ?? "{}") as { n: number }).n.toString();
  return {
    results: items.map((i) => ({
      result: { case: "verdict" as const, value: { allowed: true, revision: revision(i) } },
    })),
  };
}

function numbered(count: number): DocumentInput[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

test("items are sent within the limits of the server, in order", async () => {
  const sizes: number[] = [];
  const client = new TestClient((router) => {
    limits(router);
    router.service(EvaluationService, { validate: (r) => (sizes.push(r.items.length), echo(r.items)) });
  });
  const verdicts = await client.validate(numbered(8));
  assert.deepEqual(sizes, [3, 3, 2]);
  assert.deepEqual(
    verdicts.map((v) => v.revision),
    ["0", "1", "2", "3", "4", "5", "6", "7"],
  );
  assert.deepEqual(
    fitting([4, 4, 4, 20, 1], 0, 9, 9, (n) => n),
    [4, 4],
  );
  assert.deepEqual(
    fitting([4, 4, 4, 20, 1], 3, 9, 9, (n) => n),
    [20],
  );
});

test("a server without a limit of items gets all items in one call", { timeout: 60_000 }, async () => {
  const sizes: number[] = [];
  const client = new TestClient((router) => {
    limits(router, 0);
    router.service(EvaluationService, { validate: (r) => (sizes.push(r.items.length), echo(r.items)) });
  });
  await client.validate(numbered(5));
  assert.deepEqual(sizes, [5]);
});

test("the error of a later call has the results of the earlier ones", async () => {
  let calls = 0;
  const fails = () => {
    if (++calls % 2 === 0) {
      throw overloaded(0);
    }
  };
  const client = new TestClient(
    (router) => {
      limits(router);
      router.service(EvaluationService, {
        validate: (r) => (fails(), echo(r.items)),
        prune: (r) => (fails(), { results: r.items.map(() => ({})) }),
      });
      router.service(RegistryService, {
        registerCrds: (r) => (fails(), { results: r.entries.map((_, i) => ({ crd: String(i) })) }),
      });
    },
    { retries: { maxAttempts: 1 } },
  );
  const error = async (call: Promise<unknown>) =>
    (await call.then(
      () => assert.fail("the call succeeds"),
      (e) => e,
    )) as CrdevalError;
  const verdicts = await error(client.validate(numbered(5)));
  assert.equal(verdicts.reason, "OVERLOADED");
  assert.deepEqual(
    verdicts.verdicts.map((v) => v.revision),
    ["0", "1", "2"],
  );
  const transformed = await error(client.prune(numbered(5)));
  assert.deepEqual([transformed.verdicts.length, transformed.transformed.length], [0, 3]);
  const registered = await error(client.register(numbered(5)));
  assert.deepEqual(
    registered.registered.map((r) => r.name),
    ["0", "1"],
  );
});

test("a wrong number of results is an error", async () => {
  const client = new TestClient((router) => {
    limits(router);
    router.service(EvaluationService, { validate: () => ({ results: [] }) });
  });
  await assert.rejects(client.validate(numbered(1)), (e) => e instanceof CrdevalError && e.code === "INTERNAL");
});

/** recordPauses replaces the timers of up to 10 s by timers without a pause, and returns their pauses. */
function recordPauses(t: TestContext): number[] {
  const pauses: number[] = [];
  const set = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", (f: () => void, ms: number) => {
    if (ms > 10_000) {
      return set(f, ms); // a deadline
    }
    pauses.push(ms);
    return set(f, 0);
  });
  return pauses;
}

test("an overloaded call is repeated after the delay of the server", async (t) => {
  let calls = 0;
  const client = new TestClient((router) => {
    limits(router);
    router.service(EvaluationService, {
      validate: (r) => {
        if (++calls < 3) {
          throw overloaded(700);
        }
        return echo(r.items);
      },
    });
  });
  const pauses = recordPauses(t);
  await client.validate(numbered(1));
  assert.deepEqual([calls, pauses], [3, [700, 700]]);
});

test("no pause is longer than the maximum, unless the server gives a longer delay", async (t) => {
  const delays = [0, 0, 30];
  const client = new TestClient(
    (router) => {
      limits(router);
      router.service(EvaluationService, {
        validate: (r) => {
          const delay = delays.shift();
          if (delay !== undefined) throw overloaded(delay);
          return echo(r.items);
        },
      });
    },
    { retries: { maxPauseMs: 10 } },
  );
  const pauses = recordPauses(t);
  await client.validate(numbered(1));
  assert.ok(pauses.length === 3 && pauses[0]! <= 10 && pauses[1]! <= 10 && pauses[2] === 30, String(pauses));
});

test("only calls with UNAVAILABLE and OVERLOADED are repeated", async () => {
  let calls = 0;
  const client = new TestClient((router) => {
    limits(router);
    router.service(EvaluationService, {
      validate: () => {
        calls++;
        throw new ConnectError("busy", Code.ResourceExhausted, undefined, overloaded(0).details as []);
      },
    });
  });
  await assert.rejects(client.validate(numbered(1)), CrdevalError);
  assert.equal(calls, 1);
});

test("the time limit of calls is a minute, or a positive number", async () => {
  const left: (number | undefined)[] = [];
  const client = new TestClient((router) => {
    router.service(EvaluationService, {
      validate: (r, context) => (left.push(context.timeoutMs()), echo(r.items)),
    });
  });
  for (const timeoutMs of [undefined, 3_600_000, Infinity, 2 ** 40]) {
    await client.validate(numbered(1), { timeoutMs });
  }
  const [first, hour, ...none] = left;
  assert.ok(first! <= 60_000 && hour! > 60_000 && hour! <= 3_600_000, String(left));
  assert.deepEqual(none, [undefined, undefined]);
  for (const timeoutMs of [0, -1, NaN]) {
    await assert.rejects(client.validate(numbered(1), { timeoutMs }), RangeError);
    await assert.rejects(client.admitStream(numbered(1), { timeoutMs }).next(), RangeError);
  }
});

test("retries end with the attempts, with the deadline, and with the signal", async () => {
  let calls = 0;
  let delay = 40;
  let called = () => {};
  const client = (options: CommonOptions) =>
    new TestClient((router) => {
      limits(router);
      router.service(EvaluationService, {
        validate: () => {
          calls++;
          called();
          return Promise.reject(overloaded(delay));
        },
      });
    }, options);
  const rejected = (e: unknown) => e instanceof CrdevalError && e.reason === "OVERLOADED" && e.retryDelayMs === delay;
  await assert.rejects(client({ retries: { maxAttempts: 2, firstPauseMs: 1 } }).validate(numbered(1)), rejected);
  assert.equal(calls, 2);
  delay = 600_000;
  await assert.rejects(client({}).validate(numbered(1), { timeoutMs: 60_000 }), rejected);
  assert.equal(calls, 3);
  const stop = new AbortController();
  called = () => setTimeout(() => stop.abort(), 5);
  await assert.rejects(
    client({}).validate(numbered(1), { signal: stop.signal, timeoutMs: Infinity }),
    (e) => e instanceof CrdevalError && e.code === "CANCELLED",
  );
  assert.equal(calls, 4);
  assert.throws(() => client({ retries: { maxAttempts: 0 } }), RangeError);
});

test("errors are decoded", async () => {
  const client = new TestClient((router) => {
    limits(router);
    router.service(RegistryService, {
      deleteCrd() {
        throw new ConnectError("bad", Code.FailedPrecondition, undefined, [
          {
            desc: ErrorInfoSchema,
            value: { domain: "crdeval.dev", reason: "QUOTA_EXCEEDED", metadata: { quota: "crds" } },
          },
          { desc: BadRequestSchema, value: { fieldViolations: [{ field: "crd", description: "too long" }] } },
        ]);
      },
    });
  });
  await assert.rejects(client.deleteCrd("a"), (e) => {
    assert.ok(e instanceof CrdevalError);
    assert.deepEqual(
      {
        code: e.code,
        reason: e.reason,
        metadata: e.metadata,
        message: e.message,
        field: e.badRequest?.fieldViolations[0]?.field,
      },
      {
        code: "FAILED_PRECONDITION",
        reason: "QUOTA_EXCEEDED",
        metadata: { quota: "crds" },
        message: "bad",
        field: "crd",
      },
    );
    return true;
  });
});

test("streams have any number of items and end with their source", async () => {
  const sizes: number[] = [];
  const client = new TestClient((router) => {
    router.service(EvaluationService, {
      async *admitStream(messages) {
        let catalog: string | undefined = "default";
        for await (const m of messages) {
          assert.equal(m.context?.catalog, catalog);
          catalog = undefined;
          sizes.push(m.items.length);
          yield echo(m.items);
        }
      },
    });
  });
  const all: string[] = [];
  for await (const v of client.admitStream(numbered(250))) {
    all.push(v.revision);
  }
  assert.deepEqual(
    all,
    Array.from({ length: 250 }, (_, n) => String(n)),
  );
  assert.deepEqual(sizes, [100, 100, 50]);
  await assert.rejects(async () => {
    for await (const _ of client.admitStream(
      (function* () {
        yield { n: 1 };
        throw new Error("source");
      })(),
    )) {
      void _;
    }
  }, /source/);
  let close = () => {};
  const closed = new Promise<void>((resolve) => (close = resolve));
  const endless = (function* () {
    try {
      for (let n = 0; ; n++) yield { n };
    } finally {
      close();
    }
  })();
  for await (const _ of client.admitStream(endless)) {
    void _;
    break;
  }
  await closed;
});

test("a slow source does not delay items that are ready", async () => {
  const client = new TestClient((router) => {
    router.service(EvaluationService, {
      async *admitStream(messages) {
        for await (const m of messages) yield echo(m.items);
      },
    });
  });
  let release = () => undefined as void;
  const stream = client.admitStream(
    (async function* () {
      yield { n: 0 };
      await new Promise<void>((resolve) => (release = resolve));
      yield { n: 1 };
    })(),
  );
  assert.equal((await stream.next()).value?.revision, "0");
  release();
  assert.equal((await stream.next()).value?.revision, "1");
  assert.ok((await stream.next()).done);
});

test("a watch reconnects, and yields the differences if its token has expired", async () => {
  const crd = (name: string, etag: string) => ({ name, etag });
  const sessions = [
    [
      { type: WatchEventType.ADDED, crd: crd("a", "1") },
      { type: WatchEventType.ADDED, crd: crd("b", "1") },
      { type: WatchEventType.SYNCED, token: "t1" },
    ],
    "expired",
    [
      { type: WatchEventType.ADDED, crd: crd("b", "2") },
      { type: WatchEventType.ADDED, crd: crd("c", "1") },
      { type: WatchEventType.SYNCED, token: "t2" },
    ],
  ];
  const tokens: string[] = [];
  const client = new TestClient((router) => {
    router.service(RegistryService, {
      async *watchCrds(r) {
        tokens.push(r.fromToken);
        const session = sessions.shift();
        if (session === "expired") {
          throw new ConnectError("gone", Code.OutOfRange, undefined, [
            { desc: ErrorInfoSchema, value: { domain: "crdeval.dev", reason: "WATCH_EXPIRED" } },
          ]);
        }
        yield* session as { type: WatchEventType }[];
        throw new ConnectError("lost", Code.Unavailable);
      },
    });
  });
  const events: string[] = [];
  for await (const e of client.watch()) {
    events.push(`${e.type} ${e.crd?.name ?? ""}`.trim());
    if (events.length === 7) break;
  }
  assert.deepEqual(events, ["ADDED a", "ADDED b", "SYNCED", "MODIFIED b", "ADDED c", "DELETED a", "SYNCED"]);
  assert.deepEqual(tokens, ["", "t1", ""]);
});

test("an aborted watch fails with CANCELLED", async () => {
  for (const lost of [true, false]) {
    let called = () => {};
    const open = new Promise<void>((resolve) => (called = resolve));
    const client = new TestClient((router) => {
      router.service(RegistryService, {
        async *watchCrds(_, context) {
          called();
          if (!lost) await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
          throw overloaded(600_000); // aborted in the pause, or in the call
        },
      });
    });
    const stop = new AbortController();
    const event = client.watch({ signal: stop.signal }).next();
    await open;
    setTimeout(() => stop.abort(), 20);
    await assert.rejects(event, (e) => e instanceof CrdevalError && e.code === "CANCELLED");
  }
});

test("arguments of a wrong type or range are errors", async () => {
  const client = new TestClient((router) => limits(router));
  await assert.rejects(async () => client.validate([null as unknown as string]), TypeError);
  await assert.rejects(async () => client.validate([], { fieldValidation: "strict" as "STRICT" }), RangeError);
  await assert.rejects(async () => client.validate([], { itemTimeoutMs: NaN }), RangeError);
  await assert.rejects(client.convert("", []), RangeError);
  const { write } = updateObject({ a: 9007199254740993n }, "b: 1").item;
  assert.equal(write.case === "update" && textOf(write.value.oldObject), '{"a":9007199254740993}');
});
