// Runs the scenarios that all clients share, over gRPC and over REST. clients/scenarios/README.md describes the format.
// Start the test with clients/scenarios/serve, once for each value of CRDEVAL_SCENARIOS_TRANSPORT: grpc, unix or rest.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { parse } from "yaml";
import {
  Client,
  CrdevalError,
  createObject,
  type EvaluationOptions,
  type FieldChange,
  jsonPatch,
  mergePatch,
  type Registered,
  type Rejection,
  textOf,
  toDocument,
  type Transformed,
  updateObject,
  type Verdict,
  type Violation,
  type Write,
} from "../../src/node.js";
import { RowObject } from "../../src/gen/crdeval/v1/presentation_pb.js";
import { difference } from "./difference.js";

interface Item {
  object?: string;
  oldObject?: string;
  mergePatch?: string;
  jsonPatch?: string;
  subresource?: "status" | "scale";
  padding?: number;
}

interface Step {
  call: string;
  items?: (string | Item)[];
  repeat?: number;
  manifests?: string[];
  version?: string;
  crd?: string;
  group?: string;
  options?: { fieldValidation?: "STRICT"; itemTimeoutNs?: number };
  catalog?: string;
  token?: string;
  retries?: boolean;
  timeoutMs?: number;
  releaseAfterMs?: number;
  expect: unknown;
}

const keys = [
  "call",
  "items",
  "repeat",
  "manifests",
  "version",
  "crd",
  "group",
  "options",
  "catalog",
  "token",
  "retries",
  "timeoutMs",
  "releaseAfterMs",
  "expect",
];

interface Scenarios {
  token: string;
  documents: Record<string, string>;
  scenarios: { name: string; steps: Step[] }[];
}

const all = parse(readFileSync("../scenarios/scenarios.yaml", "utf8"), { merge: true }) as Scenarios;
const transport = process.env["CRDEVAL_SCENARIOS_TRANSPORT"] ?? "";
const grpc = variable("CRDEVAL_SCENARIOS_GRPC");
const options = {
  grpc: { address: grpc },
  unix: { address: `unix:${variable("CRDEVAL_SCENARIOS_SOCKET")}` },
  rest: { url: variable("CRDEVAL_SCENARIOS_REST") },
}[transport];
assert.ok(options, `CRDEVAL_SCENARIOS_TRANSPORT is "${transport}", not grpc, unix or rest`);

function variable(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run this test with clients/scenarios/serve`);
  return value;
}

assert.ok(all.scenarios.length > 0);
for (const scenario of all.scenarios) {
  test(`${transport}: ${scenario.name}`, { timeout: 60_000 }, async () => {
    const runner = new Runner();
    for (const [i, step] of scenario.steps.entries()) {
      const unknown = Object.keys(step).filter((key) => !keys.includes(key));
      assert.deepEqual(unknown, [], `step ${i} has unknown keys`);
      const got = await runner.run(step);
      const at = difference(step.expect, got);
      assert.equal(at, undefined, `step ${i}, ${step.call}: ${at} differs: ${JSON.stringify(got).slice(0, 4000)}`);
    }
    assert.equal(runner.release, undefined, "the stream is not released");
  });
}

test(`${transport}: presentation`, { timeout: 60_000 }, async () => {
  const client = new Client({ ...options, token: all.token });
  const { catalog, presentation } = client;
  await client.register([document("gauges")]);
  const now = { seconds: 1_800_000_000n };
  const numbers = toDocument(document("numbers"));
  const table = await presentation.table({ context: { catalog }, objects: [numbers], now, rowObject: RowObject.OBJECT });
  assert.match(textOf(table.table) ?? "", /"kind":"Table".*"cells":\["numbers",.*"id":9007199254740993/);
  const printed = await presentation.table({ context: { catalog }, objects: [numbers], now, text: { namespaces: true } });
  assert.equal(printed.text, "NAMESPACE   NAME      AGE\ndefault     numbers   \n");
  await assert.rejects(presentation.table({ context: { catalog }, objects: [toDocument(document("other-kind"))] }), (e) => {
    const { code, reason } = CrdevalError.from(e) as CrdevalError;
    return code === "NOT_FOUND" && reason === "CRD_NOT_FOUND";
  });
  await assert.rejects(presentation.table({ context: { catalog }, objects: [toDocument(document("unreadable"))] }), (e) => {
    const { code, reason } = CrdevalError.from(e) as CrdevalError;
    return code === "INVALID_ARGUMENT" && reason === "OBJECT_UNREADABLE";
  });
  const scale = await presentation.getScale({ context: { catalog }, object: numbers });
  assert.equal(scale.rejection?.code, 404);
  const selected = await presentation.selectFields({ context: { catalog }, objects: [numbers], selector: "metadata.name=numbers" });
  assert.ok(selected.results[0]?.result.case === "selected" && selected.results[0].result.value.matches);
  const group = await presentation.discover({ catalog, group: "scenarios.example.com" });
  assert.match(textOf(group.document) ?? "", /"kind":"APIGroup"/);
  assert.match((await presentation.explain({ catalog, path: "gauges.spec.id" })).text, /FIELD: id <integer>/);
  const crd = "gauges.scenarios.example.com";
  assert.match(textOf((await presentation.getCrdObject({ catalog, crd })).document) ?? "", /"uid":/);
  const openApi = await presentation.getOpenApi({ catalog, spec: "v3", group: "scenarios.example.com", version: "v1" });
  assert.match(textOf(openApi.document) ?? "", /"openapi":"3/);
  assert.notEqual(openApi.etag, "");
  client.close();
});

class Runner {
  release: (() => void) | undefined;

  async run(step: Step): Promise<unknown> {
    const token = step.token ?? all.token;
    const common = {
      ...(token !== "" && { token }),
      ...(step.catalog !== undefined && { catalog: step.catalog }),
      ...(step.retries === false && { retries: { maxAttempts: 1 } }),
    };
    // An open stream needs gRPC.
    const client = new Client(step.call === "hold" ? { address: grpc, ...common } : { ...options!, ...common });
    if (step.releaseAfterMs !== undefined) {
      setTimeout(this.release!, step.releaseAfterMs);
      this.release = undefined;
    }
    try {
      return await this.call(client, step);
    } catch (error) {
      if (error instanceof CrdevalError) {
        const earlier = [
          ...error.verdicts.map(verdict),
          ...error.transformed.map(transformed),
          ...error.registered.map(registered),
        ];
        return { error: errorOf(error), ...(earlier.length > 0 && { results: earlier }) };
      }
      throw error;
    } finally {
      if (step.call !== "hold") {
        client.close();
      }
    }
  }

  private async call(client: Client, step: Step): Promise<unknown> {
    const writes = writesOf(step);
    const o: EvaluationOptions & { version?: string } = {
      timeoutMs: step.timeoutMs ?? 60_000,
      fieldValidation: step.options?.fieldValidation,
      ...(step.options?.itemTimeoutNs !== undefined && { itemTimeoutMs: step.options.itemTimeoutNs / 1e6 }),
      ...(step.version !== undefined && { version: step.version }),
    };
    const objects = () => (step.items ?? []).map(objectOf);
    const repeated = () => Array.from({ length: step.repeat ?? 1 }, objects).flat();
    switch (step.call) {
      case "register":
        return results(await client.register((step.manifests ?? []).map(document), o), registered);
      case "validate":
        return results(await client.validate(writes, o), verdict);
      case "admit":
        return results(await client.admit(writes, o), verdict);
      case "prune":
        return results(await client.prune(repeated(), o), transformed);
      case "default":
        return results(await client.default(repeated(), o), transformed);
      case "read":
        return results(await client.read(repeated(), o), transformed);
      case "convert":
        return results(await client.convert(step.version ?? "", repeated(), o), transformed);
      case "admitStream":
        return results(await collect(client.admitStream(writes, o)), verdict);
      case "readStream":
        return results(await collect(client.readStream(repeated(), o)), transformed);
      case "list": {
        const crds = await collect(client.listCrds({ pageSize: 1 }));
        return { crds: crds.filter((c) => c.group === step.group).map((c) => c.name) };
      }
      case "watch":
        return { events: await watched(client, step.group) };
      case "delete":
        await client.deleteCrd(step.crd ?? "", o);
        return {};
      case "hold":
        return this.hold(client, writes[0]!);
    }
    throw new Error(`unknown call ${step.call}`);
  }

  /** hold opens a stream, waits for a result, and keeps the stream open until release is called. */
  private async hold(client: Client, write: Write): Promise<unknown> {
    const open = new Promise<void>((resolve) => (this.release = resolve));
    const stream = client.admitStream(
      (async function* () {
        yield write;
        await open;
      })(),
    );
    await stream.next();
    void stream.next().finally(() => client.close());
    return {};
  }
}

function document(name: string): string {
  const text = all.documents[name];
  assert.ok(text !== undefined, `there is no document ${name}`);
  return text;
}

function objectOf(item: string | Item): string {
  return typeof item === "string" ? document(item) : document(item.object ?? "") + " ".repeat(item.padding ?? 0);
}

function writesOf(step: Step): Write[] {
  return Array.from({ length: step.repeat ?? 1 }, () => (step.items ?? []).map(writeOf)).flat();
}

function writeOf(item: string | Item): Write {
  if (typeof item === "string") {
    return createObject(document(item));
  }
  const { object, oldObject, mergePatch: merge, jsonPatch: json, subresource, padding, ...unknown } = item;
  assert.deepEqual(unknown, {}, "an item has unknown keys");
  const o = subresource === undefined ? {} : { subresource };
  const old = oldObject === undefined ? undefined : document(oldObject);
  const write =
    merge !== undefined
      ? mergePatch(old ?? "{}", document(merge), o)
      : json !== undefined
        ? jsonPatch(old ?? "{}", document(json), o)
        : old !== undefined
          ? updateObject(old, document(object ?? ""), o)
          : createObject(objectOf({ object: object ?? "", padding: padding ?? 0 }));
  const { write: sent } = write.item;
  if (old === undefined && sent.case === "patch") {
    delete sent.value.oldObject;
  }
  return write;
}

async function watched(client: Client, group: string | undefined): Promise<string[]> {
  const events: string[] = [];
  for await (const event of client.watch()) {
    if (event.crd !== undefined && event.crd.group === group) {
      events.push(`${event.type} ${event.crd.name}`);
    }
    if (event.type === "SYNCED") {
      events.push(event.type);
      break;
    }
  }
  return events;
}

function results<R>(list: R[], outcome: (result: R) => unknown): unknown {
  return { results: list.map(outcome) };
}

function errorOf(e: CrdevalError): unknown {
  return {
    code: e.code,
    message: e.message,
    metadata: e.metadata,
    ...(e.reason !== undefined && { reason: e.reason }),
    ...(e.retryDelayMs !== undefined && { retryDelay: e.retryDelayMs > 0 }),
  };
}

function registered(r: Registered): unknown {
  if (r.error) {
    return { name: r.name, error: errorOf(r.error) };
  }
  return defined({
    name: r.name,
    accepted: r.accepted,
    outcome: r.outcome,
    violations: r.violations.map(violation),
    rejection: rejection(r.rejection),
  });
}

function verdict(v: Verdict): unknown {
  if (v.error) {
    assert.equal(v.allowed, false);
    return { error: errorOf(v.error) };
  }
  return defined({
    allowed: v.allowed,
    violations: v.violations.map(violation),
    ratcheted: v.ratcheted.map(violation),
    warnings: v.warnings.map((w) => w.text),
    next: v.next.map(violation),
    pruned: v.pruned.map(change),
    defaulted: v.defaulted.map(change),
    rejection: rejection(v.rejection),
    object: v.object?.text,
    storedObject: v.storedObject?.text,
  });
}

function transformed(t: Transformed): unknown {
  if (t.error) {
    return { error: errorOf(t.error) };
  }
  return defined({
    changed: t.changed,
    warnings: t.warnings.map((w) => w.text),
    pruned: t.pruned.map(change),
    defaulted: t.defaulted.map(change),
    rejection: rejection(t.rejection),
    object: t.object?.text,
  });
}

function violation(v: Violation): unknown {
  return defined({ ...v, badValue: v.badValue?.text });
}

function change(c: FieldChange): unknown {
  return { path: c.path, value: c.value?.text };
}

function rejection(r: Rejection | undefined): unknown {
  return r && { code: r.code, reason: r.reason, message: r.message };
}

/** defined returns an object without the properties that are undefined. */
function defined(o: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined));
}

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const element of source) {
    list.push(element);
  }
  return list;
}
