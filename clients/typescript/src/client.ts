import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client as Stub, type Transport } from "@connectrpc/connect";
import { EvaluationService, type ObjectItem, type WriteItem } from "./gen/crdeval/v1/evaluation_pb.js";
import { PresentationService } from "./gen/crdeval/v1/presentation_pb.js";
import {
  type Crd,
  type RegisterCrdsEntry,
  RegisterCrdsEntrySchema,
  RegistryService,
} from "./gen/crdeval/v1/registry_pb.js";
import { ServerService, type ServerLimits } from "./gen/crdeval/v1/server_pb.js";
import { type DocumentInput, textOf, toDocument, toObjectItem, toWriteItem, type Write } from "./document.js";
import { CrdevalError, partial, type Results } from "./error.js";
import { type CallOptions, type EvaluationOptions, toEvaluationOptions } from "./options.js";
import { BatchTransport } from "./rest/batch.js";
import { type Registered, toRegistered, toTransformed, toVerdict, type Transformed, type Verdict } from "./results.js";
import { Caller, remaining, type RetryOptions } from "./retry.js";
import { itemBytes, Sender, type Source } from "./stream.js";
import { Watch, type WatchEvent } from "./watch.js";

/** CommonOptions are the options of a client over gRPC and over REST. */
export interface CommonOptions {
  /** The catalog. Default: "default". */
  catalog?: string;
  /** The bearer token, for a server with --auth-token-file or OpenID Connect. */
  token?: string;
  /** How calls are repeated that an overloaded server rejects. */
  retries?: RetryOptions;
  /** The default time limit of calls other than streams and watches, in milliseconds. Default: 60,000. */
  timeoutMs?: number;
}

/** CRDs in a call. Validating a large CRD takes some ten milliseconds, and a call should end within seconds. */
const crdsAtOnce = 100;

/** A longer time limit is no limit. Timers of JavaScript with a longer delay end at once. */
const maxTimerMs = 2 ** 31 - 1;

interface StubOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** Context is the context of a request. */
interface Context {
  catalog: string;
  options: ReturnType<typeof toEvaluationOptions>;
  crds: ReturnType<typeof toDocument>[];
  atLeast: string;
}

/** Request has the fields that all requests for items share. */
interface Request<I> {
  context: Context;
  items: I[];
}

/**
 * BaseClient calls a crdeval service for one catalog, over any transport. Calls throw a CrdevalError. Later calls see
 * the registrations of this client, at any replica of the service.
 */
export class BaseClient {
  /** The generated clients of the API. Their errors are ConnectErrors; CrdevalError.from decodes them. */
  readonly evaluation: Stub<typeof EvaluationService>;
  readonly registry: Stub<typeof RegistryService>;
  readonly presentation: Stub<typeof PresentationService>;
  readonly server: Stub<typeof ServerService>;
  /** The name of the catalog. */
  readonly catalog: string;
  /** The token of the latest write of this client. Set it to see the write of another client. */
  atLeast = "";

  private readonly caller: Caller;
  private readonly defaultTimeoutMs: number;
  private knownLimits: ServerLimits | undefined;

  protected constructor(
    transport: Transport,
    o: CommonOptions,
    private readonly bidirectional: boolean,
    private readonly closeTransport: () => void = () => undefined, // tests have none
  ) {
    const caller = new Caller(transport, o.token, o.retries);
    this.caller = caller;
    const calls = bidirectional ? caller : new BatchTransport(caller);
    this.evaluation = createClient(EvaluationService, calls);
    this.registry = createClient(RegistryService, calls);
    this.presentation = createClient(PresentationService, calls);
    this.server = createClient(ServerService, calls);
    this.catalog = o.catalog ?? "default";
    this.defaultTimeoutMs = o.timeoutMs ?? 60_000;
  }

  /** close closes the connection. Calls in progress fail with CANCELLED, and later calls too. */
  close(): void {
    this.caller.closed = true;
    this.closeTransport();
  }

  /** validate returns for each write or new object whether an API server would accept it. */
  validate(items: readonly (DocumentInput | Write)[], o: EvaluationOptions = {}): Promise<Verdict[]> {
    return this.evaluate(items, o, toWriteItem, (r, s) => this.evaluation.validate(r, s), toVerdict, keepVerdicts);
  }

  /**
   * admit runs each write through the whole write path of an API server. `object` is the object that the API server
   * would return, `storedObject` the object that it would store. Nothing is stored.
   */
  admit(items: readonly (DocumentInput | Write)[], o: EvaluationOptions = {}): Promise<Verdict[]> {
    return this.evaluate(items, o, toWriteItem, (r, s) => this.evaluation.admit(r, s), toVerdict, keepVerdicts);
  }

  /** prune removes the fields that the schema does not know. */
  prune(items: readonly DocumentInput[], o: EvaluationOptions = {}): Promise<Transformed[]> {
    return this.evaluate(items, o, toObjectItem, (r, s) => this.evaluation.prune(r, s), toTransformed, keepTransformed);
  }

  /** default adds the defaults. */
  default(items: readonly DocumentInput[], o: EvaluationOptions = {}): Promise<Transformed[]> {
    return this.evaluate(items, o, toObjectItem, (r, s) => this.evaluation.default(r, s), toTransformed, keepTransformed);
  }

  /** read reads stored objects as an API server does, at a version of the CRD or, without one, at their own. */
  read(items: readonly DocumentInput[], o: EvaluationOptions & { version?: string } = {}): Promise<Transformed[]> {
    const targetVersion = o.version ?? "";
    const method = (r: Request<ObjectItem>, s: StubOptions) => this.evaluation.read({ ...r, targetVersion }, s);
    return this.evaluate(items, o, toObjectItem, method, toTransformed, keepTransformed);
  }

  /** convert converts objects to a version of their CRD. */
  async convert(version: string, items: readonly DocumentInput[], o: EvaluationOptions = {}): Promise<Transformed[]> {
    if (version === "") {
      throw new RangeError("the version to convert to is empty");
    }
    const method = (r: Request<ObjectItem>, s: StubOptions) => this.evaluation.convert({ ...r, targetVersion: version }, s);
    return this.evaluate(items, o, toObjectItem, method, toTransformed, keepTransformed);
  }

  /** admitStream is admit for any number of writes, in bounded memory. The results have the order of the items. */
  admitStream(items: Source, o: EvaluationOptions = {}): AsyncGenerator<Verdict, void, undefined> {
    return this.stream(
      items,
      o,
      toWriteItem,
      (messages, s) => this.evaluation.admitStream(messages, s),
      (r, s) => this.evaluation.admit(r, s),
      {},
      toVerdict,
    );
  }

  /** readStream is read for any number of objects. */
  readStream(
    items: Source,
    o: EvaluationOptions & { version?: string } = {},
  ): AsyncGenerator<Transformed, void, undefined> {
    return this.stream(
      items,
      o,
      toObjectItem,
      (messages, s) => this.evaluation.readStream(messages, s),
      (r, s) => this.evaluation.read(r, s),
      { targetVersion: o.version ?? "" },
      toTransformed,
    );
  }

  /** register registers CRDs, one after the other. A CRD that fails does not affect the others. */
  async register(manifests: readonly DocumentInput[], o: CallOptions = {}): Promise<Registered[]> {
    checkList(manifests);
    const entries = manifests.map((m) => create(RegisterCrdsEntrySchema, { manifest: toDocument(m) }));
    const size = (e: RegisterCrdsEntry) => (e.manifest?.content.value?.length ?? 0) + 100;
    const most = (l: ServerLimits) => Math.min(crdsAtOnce, l.maxRegisterCrds || crdsAtOnce);
    const send = (part: RegisterCrdsEntry[], s: StubOptions) =>
      this.registry.registerCrds({ catalog: this.catalog, entries: part }, s);
    return this.inBatches(entries, size, most, o, 0, send, toRegistered, (error, done) => (error.registered = done));
  }

  /** getCrd returns a registered CRD by its name, with its manifest. */
  getCrd(name: string, o: CallOptions = {}): Promise<Crd> {
    return this.call(o, async (s) => {
      const { crd } = await this.registry.getCrd({ catalog: this.catalog, crd: name, atLeast: this.atLeast }, s());
      if (crd === undefined) {
        throw new ConnectError("the response has no CRD", Code.Internal);
      }
      return crd;
    });
  }

  /** listCrds returns the CRDs of the catalog by name, without manifests. All come from the same snapshot. */
  async *listCrds(o: CallOptions & { pageSize?: number } = {}): AsyncGenerator<Crd, void, undefined> {
    let pageToken = "";
    do {
      const request = { catalog: this.catalog, pageSize: o.pageSize ?? 0, pageToken, atLeast: this.atLeast };
      const page = await this.call(o, (s) => this.registry.listCrds(request, s()));
      yield* page.crds;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** deleteCrd deletes a CRD by its name. */
  deleteCrd(name: string, o: CallOptions = {}): Promise<void> {
    return this.call(o, async (s) => {
      const response = await this.registry.deleteCrd({ catalog: this.catalog, crd: name }, s());
      this.atLeast = response.token || this.atLeast;
    });
  }

  /**
   * watch yields every CRD as ADDED, then SYNCED, then each change, until the loop ends. With `from`, the token of an
   * event, it yields the changes since then. It reconnects if the connection is lost. `signal` aborts it, as a call.
   */
  watch(o: { from?: string; signal?: AbortSignal } = {}): AsyncGenerator<WatchEvent, void, undefined> {
    const open = (fromToken: string) =>
      this.registry.watchCrds({ catalog: this.catalog, fromToken }, o.signal ? { signal: o.signal } : {});
    return new Watch(open, o.from ?? "", o.signal).events();
  }

  /** limits returns the limits of the server. The client requests them once. */
  async limits(o: CallOptions = {}): Promise<ServerLimits> {
    if (this.knownLimits === undefined) {
      const { limits } = await this.call(o, (s) => this.server.getServerInfo({}, s()));
      if (limits === undefined) {
        throw new TypeError("the server reports no limits");
      }
      this.knownLimits = limits;
    }
    return this.knownLimits;
  }

  private async evaluate<I extends WriteItem | ObjectItem, R, T>(
    items: readonly (DocumentInput | Write)[],
    o: EvaluationOptions,
    toItem: (input: DocumentInput | Write) => I,
    method: (request: Request<I>, s: StubOptions) => Promise<{ results: R[] }>,
    convert: (result: R) => T,
    keep: (error: CrdevalError, done: T[]) => void,
  ): Promise<T[]> {
    const context = this.context(o);
    const overlay = context.crds.reduce((bytes, d) => bytes + (d.content.value?.length ?? 0), 0);
    const most = (l: ServerLimits) => l.maxBatchItems;
    checkList(items);
    const send = (part: I[], s: StubOptions) =>
      method({ context: { ...context, atLeast: this.atLeast }, items: part }, s);
    return this.inBatches(items.map(toItem), itemBytes, most, o, overlay, send, convert, keep);
  }

  private context(o: EvaluationOptions): Context {
    return {
      catalog: this.catalog,
      options: toEvaluationOptions(o),
      crds: (o.crds ?? []).map(toDocument),
      atLeast: this.atLeast,
    };
  }

  /**
   * inBatches sends elements in as many calls as the limits of the server require. If one fails, `keep` adds the
   * results of the earlier requests to its error.
   */
  private async inBatches<E, R, T>(
    elements: E[],
    size: (element: E) => number,
    most: (limits: ServerLimits) => number,
    o: CallOptions,
    overlay: number,
    send: (part: E[], s: StubOptions) => Promise<Results<R>>,
    convert: (result: R) => T,
    keep: (error: CrdevalError, done: T[]) => void,
  ): Promise<T[]> {
    const all: T[] = [];
    const take = ({ results, token }: Results<R>) => {
      this.atLeast = token || this.atLeast;
      results.forEach((result) => all.push(convert(result)));
    };
    const run = this.call(o, async (s) => {
      const limits = elements.length > 1 ? await this.limits(s()) : undefined; // one element is one call
      // The answer can be larger than the request.
      const capacity = limits ? limits.maxMessageBytes / 2 - overlay : Infinity;
      for (let start = 0; start < elements.length;) {
        const part = fitting(elements, start, (limits && most(limits)) || Infinity, capacity, size);
        const response = await send(part, s()).catch((error: Error) => {
          take((partial.get(error) ?? { results: [] }) as Results<R>);
          throw error;
        });
        const count = response.results.length;
        if (count !== part.length) {
          throw new ConnectError(`the server sent ${count} results for ${part.length} items`, Code.Internal);
        }
        take(response);
        start += part.length;
      }
    });
    await run.catch((error: unknown) => {
      if (error instanceof CrdevalError) {
        keep(error, all);
      }
      throw error;
    });
    return all;
  }

  /** call runs a call with a deadline. The function that it passes returns the options for the next request. */
  private async call<T>(o: CallOptions, run: (options: () => StubOptions) => Promise<T>): Promise<T> {
    try {
      return await run(limited(o.signal, o.timeoutMs ?? this.defaultTimeoutMs));
    } catch (error) {
      throw CrdevalError.from(error);
    }
  }

  private async *stream<I extends WriteItem | ObjectItem, R, T>(
    source: Source,
    o: EvaluationOptions,
    toItem: (input: DocumentInput | Write) => I,
    method: (messages: AsyncIterable<Partial<Request<I>>>, s: StubOptions) => AsyncIterable<{ results: R[] }>,
    unary: (request: Request<I>, s: StubOptions) => Promise<{ results: R[] }>,
    settings: { targetVersion?: string },
    convert: (result: R) => T,
  ): AsyncGenerator<T, void, undefined> {
    const sender = new Sender(source, toItem);
    const optionsOf = limited(o.signal, o.timeoutMs);
    const first: Request<I> = { context: this.context(o), items: [], ...settings };
    const answers = this.bidirectional
      ? method(messages(first, sender.batches()), optionsOf())
      : oneByOne(first, sender.batches(), (request) => unary(request, optionsOf()));
    try {
      for await (const answer of answers) {
        yield* answer.results.map(convert);
      }
    } catch (error) {
      throw sender.error ? sender.error.cause : CrdevalError.from(error);
    }
    if (sender.error) {
      throw sender.error.cause;
    }
  }
}

/** limited returns a function that returns the options for the next request of a call, with the time that is left. */
function limited(signal: AbortSignal | undefined, timeoutMs = Infinity): () => StubOptions {
  if (!(timeoutMs > 0)) {
    throw new RangeError(`timeoutMs is ${timeoutMs}: it must be positive`);
  }
  const deadline = timeoutMs > maxTimerMs ? undefined : Date.now() + timeoutMs;
  return () => ({
    ...(signal && { signal }),
    ...(deadline !== undefined && { timeoutMs: remaining(deadline) }),
  });
}

/** checkList throws a TypeError if a program without types passes one document instead of a list. */
function checkList(items: unknown): void {
  if (!Array.isArray(items)) {
    throw new TypeError("give a list of documents, not one document");
  }
}

function keepVerdicts(error: CrdevalError, done: Verdict[]): void {
  error.verdicts = done;
}

function keepTransformed(error: CrdevalError, done: Transformed[]): void {
  error.transformed = done;
}

/** messages returns the messages of a stream. Only the first one has settings. */
async function* messages<I>(
  first: Request<I>,
  batches: AsyncIterable<I[]>,
): AsyncGenerator<Partial<Request<I>>> {
  let settings: Partial<Request<I>> = first;
  for await (const items of batches) {
    yield { ...settings, items };
    settings = {};
  }
  if (settings === first) {
    yield first; // without items, the server still checks the settings
  }
}

/** oneByOne sends each batch as a call of its own. */
async function* oneByOne<I, A extends { results: unknown[] }>(
  first: Request<I>,
  batches: AsyncIterable<I[]>,
  unary: (request: Request<I>) => Promise<A>,
): AsyncGenerator<A> {
  for await (const items of batches) {
    try {
      yield await unary({ ...first, items });
    } catch (error) {
      yield (partial.get(error as Error) ?? { results: [] }) as A;
      throw error;
    }
  }
}

/** fitting returns the elements for the next call: at least one, at most `most`, of at most `capacity` bytes. */
export function fitting<E>(elements: E[], start: number, most: number, capacity: number, size: (e: E) => number): E[] {
  let end = start;
  for (let bytes = 0; end < elements.length && end - start < most; end++) {
    bytes += size(elements[end] as E);
    if (end > start && bytes > capacity) {
      break;
    }
  }
  return elements.slice(start, end);
}

/** manifestOf returns the manifest of a CRD of getCrd as JSON, or undefined if it has none. */
export function manifestOf(crd: Crd): string | undefined {
  return textOf(crd.manifest);
}
