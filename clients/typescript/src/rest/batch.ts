import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { type Document, DocumentSchema } from "../gen/crdeval/v1/document_pb.js";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../gen/google/rpc/status_pb.js";
import { connectError, CrdevalError, partial, type Results } from "../error.js";
import { JsonSyntaxError } from "../json.js";
import { remaining } from "../retry.js";
import { type Format, textOf } from "./body.js";

type List = "items" | "entries";

/** Group has the elements of one request. */
interface Group {
  readonly format: string;
  readonly indexes: number[];
}

/**
 * BatchTransport sends the elements of a list in as few REST requests as possible. In a YAML body, JSON would be read
 * as YAML, and 1.0 as 1. So JSON elements share requests, and each YAML element has its own. An element that cannot be
 * part of a body gets its own error, as over gRPC.
 */
export class BatchTransport implements Transport {
  /** `transport` sends one request per call, and repeats it if the server is overloaded. */
  constructor(private readonly transport: Transport) {}

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs;
    const send = (request: MessageInitShape<I>) =>
      this.transport.unary(
        method,
        signal,
        deadline === undefined ? undefined : remaining(deadline),
        header,
        request,
      );
    const request: object = create(method.input, input);
    const list = (["items", "entries"] as const).find((name) => method.input.field[name] !== undefined);
    if (list === undefined) {
      const error = unreadable(documentsOf(request), "items");
      if (error !== undefined) {
        throw connectError(error);
      }
      return send(request as MessageShape<I>);
    }
    const elements = (request as Record<List, unknown[]>)[list];
    const message = await inGroups(method, list, elements, async (part) => {
      const response = await send({ ...request, [list]: part } as unknown as MessageShape<I>);
      return response.message as Partial<Results<unknown>>;
    });
    return { stream: false, service: method.parent, method, header: new Headers(), trailer: new Headers(), message };
  }

  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
  ): Promise<StreamResponse<I, O>> {
    return this.transport.stream(method, signal, timeoutMs, header, input);
  }
}

/** inGroups sends the elements of a list in groups and returns a response with the results of all. */
async function inGroups<O extends DescMessage>(
  method: DescMethodUnary<DescMessage, O>,
  list: List,
  elements: unknown[],
  send: (part: unknown[]) => Promise<Partial<Results<unknown>>>,
): Promise<MessageShape<O>> {
  const all: Results<unknown> = { results: new Array<unknown>(elements.length).fill(undefined) };
  for (const { format, indexes } of groupsOf(method, list, elements, all.results)) {
    try {
      const { results = [], token } = await send(indexes.map((i) => elements[i]));
      if (results.length !== indexes.length) {
        throw new ConnectError(`the server sent ${results.length} results for ${indexes.length} items`, Code.Internal);
      }
      indexes.forEach((index, i) => (all.results[index] = results[i]));
      if (token) {
        all.token = token;
      }
    } catch (error) {
      const malformed = format === "yaml" ? malformedBody(error, list) : undefined;
      if (malformed === undefined) {
        partial.set(error as Error, { ...all, results: all.results.slice(0, all.results.indexOf(undefined)) });
        throw error;
      }
      indexes.forEach((index) => (all.results[index] = failed(method, malformed)));
    }
  }
  return Object.assign(create(method.output), all);
}

/** groupsOf returns the groups of elements. For an element that cannot be part of a body, it sets the result. */
function groupsOf(method: DescMethod, list: List, elements: unknown[], results: unknown[]): Group[] {
  const groups: Group[] = [];
  elements.forEach((element, i) => {
    const documents = documentsOf(element);
    const formats = new Set(documents.map(formatOf));
    const format = formats.has("yaml") ? "yaml" : "json";
    const last = groups.find((g) => g.format === "json" && (list === "items" || g === groups.at(-1)));
    const error = formats.size > 1 ? statusOf(list, mixed) : unreadable(documents, list);
    if (error !== undefined) {
      results[i] = failed(method, error);
    } else if (format === "json" && last !== undefined) {
      last.indexes.push(i);
    } else {
      groups.push({ format, indexes: [i] });
    }
  });
  // Without elements, the server still checks the other fields.
  return groups.length > 0 ? groups : [{ format: "json", indexes: [] }];
}

function formatOf(document: Pick<Document, "content">): Format {
  return document.content.case === "json" || document.content.case === undefined ? "json" : "yaml";
}

const mixed = "over REST, the documents of an item must be all JSON or all YAML: use gRPC, or convert them";

/** documentsOf returns the documents of a message that have content. */
function documentsOf(value: unknown): Document[] {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) {
    return [];
  }
  if (isMessage(value, DocumentSchema)) {
    return value.content.case === undefined ? [] : [value];
  }
  return Object.values(value).flatMap(documentsOf);
}

/** malformedBody returns the error of the element in a YAML body that the server cannot read. */
function malformedBody(error: unknown, list: List): Status | undefined {
  const known = CrdevalError.from(error);
  return known instanceof CrdevalError && known.reason === "MALFORMED_BODY"
    ? statusOf(list, known.message, known.metadata)
    : undefined;
}

/** failed returns the result of an element with an error. */
function failed(method: DescMethod, value: Status): unknown {
  const results = method.output.field["results"];
  const desc = results?.fieldKind === "list" && results.listKind === "message" ? results.message : StatusSchema;
  return Object.assign(create(desc), { result: { case: "error", value } });
}

/** unreadable returns the error of documents that cannot be part of a body. */
function unreadable(documents: Document[], list: List): Status | undefined {
  try {
    for (const { content } of documents) {
      textOf({ format: formatOf({ content }), content: content.value ?? "" });
    }
    return undefined;
  } catch (error) {
    const at = error instanceof JsonSyntaxError ? { line: String(error.line), column: String(error.column) } : {};
    return statusOf(list, `document: ${error instanceof Error ? error.message : String(error)}`, at);
  }
}

function statusOf(list: List, message: string, metadata: Readonly<Record<string, string>> = {}): Status {
  const reason = list === "items" ? "OBJECT_UNREADABLE" : "MANIFEST_UNREADABLE";
  const info = create(ErrorInfoSchema, { domain: "crdeval.dev", reason, metadata: { ...metadata } });
  return create(StatusSchema, { code: Code.InvalidArgument, message, details: [anyPack(ErrorInfoSchema, info)] });
}
