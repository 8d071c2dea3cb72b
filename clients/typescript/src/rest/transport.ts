import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  getOption,
  type JsonValue as Tree,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { http } from "../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../gen/google/api/http_pb.js";
import { onThisHost } from "../options.js";
import { BodyWriter, type Format, formatsOf, isObject, textOf, embedded } from "./body.js";
import { decode, decodeBody, decodeError, decodeRejection, rebase } from "./decode.js";

/** RestOptions are the options of a client over REST. */
export interface RestOptions {
  /**
   * The base URL of the service: "https://crdeval.example:8080". In a browser it can be relative; "" is the same
   * origin.
   */
  url: string;
  /** Replaces the global fetch, for example to set other headers. */
  fetch?: typeof globalThis.fetch;
}

type Message = { [key: string]: Tree };

/** The paths of the documents that positions of results refer to. */
const bodies = ["items.*.object", "items.*.create.object", "items.*.update.object", "entries.*.manifest"];

/**
 * RestTransport makes each call of the generated clients as one REST request, with the path that the protos declare.
 * Browsers cannot send and receive at the same time. Therefore it has no bidirectional streams.
 */
export class RestTransport implements Transport {
  private readonly base: string;
  private readonly fetch: typeof globalThis.fetch;
  private readonly open = new Set<Limits>();

  constructor(options: RestOptions & { token?: string }) {
    checkUrl(options.url, options.token);
    this.base = options.url.replace(/\/+$/, "");
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const limits = new Limits(signal, timeoutMs, header, this.open);
    const request = toJson(method.input, create(method.input, input)) as Message;
    try {
      const message = await this.request(method, limits, request);
      return { stream: false, service: method.parent, method, header: new Headers(), trailer: new Headers(), message };
    } finally {
      limits.end();
    }
  }

  /** close ends the calls in progress. */
  close(): void {
    this.open.forEach((limits) => limits.close());
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
  ): Promise<StreamResponse<I, O>> {
    if (method.methodKind !== "server_streaming") {
      throw new ConnectError(
        `${method.name} is not possible over REST: use Admit or Read, or gRPC`,
        Code.Unimplemented,
      );
    }
    let request: Message = {};
    for await (const message of input) {
      request = toJson(method.input, create(method.input, message)) as Message;
    }
    const limits = new Limits(signal, timeoutMs, header, this.open);
    try {
      const response = await this.send(method, limits, request);
      if (!response.ok) {
        throw decodeError(response.status, await limits.run(() => response.text()));
      }
      const message = events(method.output, response, limits);
      return { stream: true, service: method.parent, method, header: response.headers, trailer: new Headers(), message };
    } catch (error) {
      limits.end();
      throw error;
    }
  }

  private async request<O extends DescMessage>(
    method: DescMethodUnary<DescMessage, O>,
    limits: Limits,
    message: Message,
  ): Promise<MessageShape<O>> {
    const origins: BodyWriter["origins"] = new Map();
    const response = await this.send(method, limits, message, origins);
    const text = await limits.run(() => response.text());
    if (!response.ok && response.status !== 304) {
      const rejected = decodeRejection(method.output, text);
      if (rejected === undefined) {
        throw decodeError(response.status, text);
      }
      return rejected;
    }
    const { responseBody } = getOption(method, http);
    if (responseBody !== "") {
      return decodeBody(method.output, responseBody, response.headers, text);
    }
    const decoded = decode(method.output, text);
    const results = (decoded as { results?: unknown[] }).results;
    results?.forEach((result, i) => {
      const body = bodies.map((path) => origins.get(path.replace("*", String(i)))).find((o) => o !== undefined);
      rebase(result, body);
    });
    return decoded;
  }

  /** send sends a request and returns its response, with any HTTP status. */
  private async send(
    method: DescMethod,
    limits: Limits,
    message: Message,
    origins?: BodyWriter["origins"],
  ): Promise<Response> {
    const { rule, path } = ruleOf(method, message);
    let rest = message;
    const url =
      this.base +
      path.replace(variable, (_, name: string) => {
        const value = valueAt(message, name);
        rest = without(rest, name.split("."));
        if (typeof value !== "string" || value === "") {
          throw new ConnectError(`${name} is empty: it is required`, Code.InvalidArgument);
        }
        return encodeURIComponent(value);
      });
    const init: RequestInit = { method: (rule.pattern.case ?? "get").toUpperCase(), headers: limits.headers };
    let query: Message = { ...rest };
    if (rule.body === "*") {
      query = {};
      const used = only(formatsOf(rest));
      const writer = new BodyWriter(used);
      init.body = writer.write(rest);
      writer.origins.forEach((origin, at) => origins?.set(at, origin));
      limits.headers.set("content-type", `application/${used}`);
    } else if (rule.body !== "") {
      const document = embedded(rest[rule.body] ?? null);
      delete query[rule.body];
      init.body = document === undefined ? "null" : textOf(document);
      limits.headers.set("content-type", `application/${document?.format ?? "json"}`);
    } else {
      limits.headers.delete("content-type");
    }
    return limits.run((signal) => this.fetch(url + queryOf(query), { ...init, signal }));
  }
}

/** checkUrl throws a TypeError if fetch cannot use a URL, or if a token would be sent to another host in plain text. */
function checkUrl(text: string, token: string | undefined): void {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return; // relative, for example to the page
  }
  if (!/^https?:$/.test(url.protocol)) {
    throw new TypeError(`the url ${JSON.stringify(text)} does not begin with http:// or https://`);
  }
  if (token && url.protocol === "http:" && !onThisHost(url.hostname)) {
    throw new TypeError(`${text}: the token would cross the network in plain text: use https://`);
  }
}

/** variable matches a variable of a path. */
const variable = /\{([\w.]+)\}/g;

/** ruleOf returns the last rule of a method whose path has only variables that are set, or the first rule. */
function ruleOf(method: DescMethod, message: Message): { rule: HttpRule; path: string } {
  const first = getOption(method, http);
  const rules = [first, ...first.additionalBindings].map((rule) => ({ rule, path: String(rule.pattern.value) }));
  const set = (path: string) => [...path.matchAll(variable)].every(([, name]) => valueAt(message, name ?? ""));
  return rules.filter(({ path }) => set(path)).at(-1) ?? rules[0]!;
}

/** valueAt returns the value of a variable, such as context.catalog. The names of variables are the same in JSON. */
function valueAt(message: Message, variable: string): Tree | undefined {
  return variable
    .split(".")
    .reduce<Tree | undefined>((value, name) => (isObject(value) ? value[name] : undefined), message);
}

/** without returns a message without a field, and without the messages that are empty then. */
function without(message: Message, [name = "", ...inner]: string[]): Message {
  const { [name]: value, ...others } = message;
  if (inner.length === 0 || !isObject(value)) {
    return others;
  }
  const rest = without(value, inner);
  return Object.keys(rest).length === 0 ? others : { ...others, [name]: rest };
}

/** only returns the format of the documents of a request. */
function only(formats: Set<Format>): Format {
  if (formats.size > 1) {
    throw new ConnectError(
      "over REST, the documents of a call must be all JSON or all YAML: use gRPC, or convert them",
      Code.InvalidArgument,
    );
  }
  return [...formats][0] ?? "json";
}

/** queryOf returns the query of the fields of a message. Nested fields have dots in their names. */
function queryOf(message: Message): string {
  const query = new URLSearchParams();
  const add = (name: string, value: Tree): void => {
    if (Array.isArray(value)) {
      value.forEach((element) => add(name, element));
    } else if (isObject(value)) {
      Object.entries(value).forEach(([key, member]) => add(`${name}.${key}`, member));
    } else {
      query.append(name, String(value));
    }
  };
  Object.entries(message).forEach(([name, value]) => add(name, value));
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** events yields the messages of a response with one message per line. The last line can be an error. */
async function* events<O extends DescMessage>(
  output: O,
  response: Response,
  limits: Limits,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) {
    limits.end();
    throw new ConnectError("the response has no body", Code.Internal);
  }
  try {
    let rest = "";
    for (;;) {
      const { done, value } = await limits.run(() => reader.read());
      const lines = (rest + (value ?? "")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (/^\s*\{"error":/.test(line)) {
          const { error } = JSON.parse(line) as { error: unknown };
          throw decodeError(response.status, JSON.stringify(error));
        }
        if (line.trim() !== "") {
          yield decode(output, line);
        }
      }
      if (done) {
        return;
      }
    }
  } finally {
    limits.end();
    await reader.cancel().catch(() => undefined);
  }
}

/** Limits are the signal, the deadline and the headers of one call. */
class Limits {
  readonly headers: Headers;
  private readonly timeout: AbortSignal | undefined;
  private readonly closed = new AbortController();
  private readonly signal: AbortSignal;

  constructor(
    private readonly given: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    private readonly open: Set<Limits>, // of the calls in progress
  ) {
    open.add(this);
    this.headers = new Headers(header);
    if (timeoutMs !== undefined) {
      const ms = Math.min(Math.max(Math.ceil(timeoutMs), 1), 0x7fffffff);
      this.timeout = AbortSignal.timeout(ms);
      this.headers.set("grpc-timeout", ms < 1e8 ? `${ms}m` : `${Math.ceil(ms / 1000)}S`);
    }
    this.signal = AbortSignal.any([given, this.timeout, this.closed.signal].filter((s) => s !== undefined));
  }

  /** close aborts the call because its client is closed. */
  close(): void {
    this.closed.abort();
  }

  /** end notes that the call has ended. */
  end(): void {
    this.open.delete(this);
  }

  /** run runs a part of the call, and converts its errors. */
  async run<T>(part: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      this.signal.throwIfAborted();
      return await part(this.signal);
    } catch (error) {
      if (error instanceof ConnectError) {
        throw error;
      }
      const [code, message] = this.given?.aborted
        ? [Code.Canceled, "the call was cancelled"]
        : this.closed.signal.aborted
          ? [Code.Canceled, "the client is closed"]
          : this.timeout?.aborted
            ? [Code.DeadlineExceeded, "the deadline of the call passed"]
            : [Code.Unavailable, `the service cannot be reached: ${String((error as Error).cause ?? error)}`];
      throw new ConnectError(message, code, undefined, undefined, error);
    }
  }
}
