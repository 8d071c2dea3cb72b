import {
  create,
  createRegistry,
  type DescMessage,
  fromJson,
  type JsonValue as Tree,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { DocumentSchema } from "../gen/crdeval/v1/document_pb.js";
import { type Position, RejectionSchema } from "../gen/crdeval/v1/violation_pb.js";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { connectError, details } from "../error.js";
import { JsonReader } from "../json.js";
import type { Origin } from "./body.js";

const encoder = new TextEncoder();
const registry = createRegistry(details, DocumentSchema);

/** decode reads a message from a response. Documents keep the bytes that the response has. */
export function decode<D extends DescMessage>(desc: D, text: string): MessageShape<D> {
  try {
    const reader = new JsonReader(text);
    const tree = readMessage(reader, desc);
    reader.end();
    return fromJson(desc, tree, { ignoreUnknownFields: true, registry });
  } catch (error) {
    if (error instanceof ConnectError) {
      throw error;
    }
    throw new ConnectError(
      `the response is not ${desc.typeName}: ${String(error)}`,
      Code.Internal,
      undefined,
      undefined,
      error,
    );
  }
}

/**
 * decodeBody returns the message of a response whose body is one field of the message, a document. Other fields come
 * from headers, or stay empty.
 */
export function decodeBody<D extends DescMessage>(
  desc: D,
  field: string,
  headers: Headers,
  text: string,
): MessageShape<D> {
  const fields: Record<string, unknown> = {};
  if (text !== "") {
    const reader = new JsonReader(text);
    fields[field] = create(DocumentSchema, { content: { case: "json", value: encoder.encode(reader.raw()) } });
    reader.end();
  }
  const warnings = [...(headers.get("warning") ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)];
  fields["warnings"] = warnings.map(([, quoted]) => ({ type: "Warning", text: quoted?.replace(/\\(.)/g, "$1") }));
  fields["etag"] = headers.get("etag") ?? "";
  const known = Object.entries(fields).filter(([name]) => desc.field[name] !== undefined);
  return Object.assign(create(desc), Object.fromEntries(known));
}

/** decodeRejection returns the message of a response whose body is a metav1.Status, if the message has a rejection. */
export function decodeRejection<D extends DescMessage>(desc: D, text: string): MessageShape<D> | undefined {
  const status = desc.field["rejection"] === undefined ? undefined : kubernetesStatus(text);
  return status && Object.assign(create(desc), { rejection: create(RejectionSchema, status) });
}

function kubernetesStatus(text: string): { code: number; reason: string; message: string } | undefined {
  try {
    const { kind, code, reason, message } = JSON.parse(text) as Record<string, unknown>;
    return kind === "Status" ? { code: Number(code), reason: String(reason), message: String(message) } : undefined;
  } catch {
    return undefined;
  }
}

/** readMessage reads a message as protobuf's JSON, in which a document is an object with base64. */
function readMessage(reader: JsonReader, desc: DescMessage): Tree {
  if (desc.typeName === DocumentSchema.typeName) {
    return { json: base64Encode(encoder.encode(reader.raw())) };
  }
  if (!desc.typeName.startsWith("crdeval.")) {
    return JSON.parse(reader.raw()) as Tree;
  }
  const fields = new Map(desc.fields.map((f) => [f.jsonName, f]));
  return readObject(reader, (key) => {
    const field = fields.get(key);
    if (field?.fieldKind === "message") {
      return readMessage(reader, field.message);
    }
    if (field?.fieldKind === "list" && field.listKind === "message") {
      const { message } = field;
      return readList(reader, () => readMessage(reader, message));
    }
    return JSON.parse(reader.raw()) as Tree;
  });
}

function readObject(reader: JsonReader, member: (key: string) => Tree): Tree {
  const object: { [key: string]: Tree } = {};
  reader.expect("{");
  if (!reader.take("}")) {
    do {
      const key = reader.key();
      object[key] = member(key);
    } while (reader.take(","));
    reader.expect("}");
  }
  return object;
}

function readList(reader: JsonReader, element: () => Tree): Tree {
  const list: Tree[] = [];
  reader.expect("[");
  if (!reader.take("]")) {
    do {
      list.push(element());
    } while (reader.take(","));
    reader.expect("]");
  }
  return list;
}

/** decodeError returns the error of a response. `status` is its HTTP status. */
export function decodeError(status: number, text: string): ConnectError {
  const answer = kubernetesStatus(text);
  if (answer !== undefined) {
    return new ConnectError(answer.message, codes[status] ?? Code.Unknown);
  }
  try {
    return connectError(fromJson(StatusSchema, JSON.parse(text) as Tree, { ignoreUnknownFields: true, registry }));
  } catch {
    // The response of a proxy.
    return new ConnectError(`HTTP status ${status}: ${text.slice(0, 300).trim()}`, codes[status] ?? Code.Unknown);
  }
}

const codes: { [status: number]: Code } = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.AlreadyExists,
  413: Code.ResourceExhausted,
  422: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  500: Code.Internal,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};

/** rebase converts the positions in a message from positions in the body to positions in a document. */
export function rebase(message: unknown, origin: Origin | undefined): void {
  if (origin === undefined || typeof message !== "object" || message === null || ArrayBuffer.isView(message)) {
    return;
  }
  if ((message as Partial<Message>).$typeName === "crdeval.v1.Position") {
    const position = message as Position;
    position.line -= origin.line - 1;
    position.column -= origin.indent;
    position.offset -= origin.offset + origin.indent * position.line;
    return;
  }
  for (const part of Object.values(message)) {
    rebase(part, origin);
  }
}
