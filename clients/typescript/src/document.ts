import { create } from "@bufbuild/protobuf";
import { type Document, DocumentSchema } from "./gen/crdeval/v1/document_pb.js";
import {
  type ObjectItem,
  ObjectItemSchema,
  PatchType,
  type WriteItem,
  WriteItemSchema,
} from "./gen/crdeval/v1/evaluation_pb.js";
import { JsonText, stringifyJson } from "./json.js";

/**
 * DocumentInput is an object, a CRD or a patch: JSON or YAML as text or as bytes in UTF-8, or a JavaScript object. A
 * text is JSON if it begins with a brace or a bracket, otherwise YAML. Its numbers keep all digits. In a JavaScript
 * object, use bigint for integers beyond 2^53.
 */
export type DocumentInput = string | Uint8Array | object;

/** Write is a write of an object, as a client sends it to an API server. The functions below return one. */
export class Write {
  private constructor(
    /** The item as it is sent. */
    readonly item: WriteItem,
  ) {}

  /** of returns a write for a complete item, with fields that the functions below do not set, such as a revision. */
  static of(item: WriteItem): Write {
    return new Write(item);
  }
}

/** WriteOptions are the options of a write. */
export interface WriteOptions {
  /** The subresource: "status" or "scale". Default: the object itself. */
  subresource?: "status" | "scale";
}

/** createObject is the creation of an object. */
export function createObject(object: DocumentInput): Write {
  return Write.of(create(WriteItemSchema, { write: { case: "create", value: { object: toDocument(object) } } }));
}

/** updateObject is the update of a stored object to a new one. */
export function updateObject(oldObject: DocumentInput, object: DocumentInput, options: WriteOptions = {}): Write {
  const value = { oldObject: toDocument(oldObject), object: toDocument(object), ...options };
  return Write.of(create(WriteItemSchema, { write: { case: "update", value } }));
}

/** mergePatch is the change of a stored object by a JSON merge patch (RFC 7386). */
export function mergePatch(oldObject: DocumentInput, patch: DocumentInput, options: WriteOptions = {}): Write {
  return patched(PatchType.MERGE, oldObject, patch, options);
}

/** jsonPatch is the change of a stored object by a JSON patch (RFC 6902). */
export function jsonPatch(oldObject: DocumentInput, patch: DocumentInput, options: WriteOptions = {}): Write {
  return patched(PatchType.JSON, oldObject, patch, options);
}

function patched(type: PatchType, oldObject: DocumentInput, patch: DocumentInput, options: WriteOptions): Write {
  const value = { type, patch: toDocument(patch), oldObject: toDocument(oldObject), ...options };
  return Write.of(create(WriteItemSchema, { write: { case: "patch", value } }));
}

/** toWriteItem returns an item for a write, or for the creation of an object. */
export function toWriteItem(input: DocumentInput | Write): WriteItem {
  return (input instanceof Write ? input : createObject(input)).item;
}

/** toObjectItem returns an item for an object that a call transforms. A Write is a TypeError. */
export function toObjectItem(input: DocumentInput | Write): ObjectItem {
  if (input instanceof Write) {
    throw new TypeError("the call transforms objects, and takes no Write");
  }
  return create(ObjectItemSchema, { object: toDocument(input) });
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** toDocument returns the message of a document. It does not parse or copy bytes. */
export function toDocument(input: DocumentInput): Document {
  if (input instanceof JsonText) {
    input = input.text;
  }
  if (typeof input === "object" && input !== null && !(input instanceof Uint8Array)) {
    return create(DocumentSchema, { content: { case: "json", value: encoder.encode(stringifyJson(input)) } });
  }
  if (typeof input !== "string" && !(input instanceof Uint8Array)) {
    throw new TypeError(
      `a document is a string, a Uint8Array or an object, not ${input === null ? "null" : typeof input}`,
    );
  }
  if (typeof input === "string") {
    const json = /^[ \t\r\n]*[{[]/.test(input);
    return create(DocumentSchema, {
      content: json ? { case: "json", value: encoder.encode(input) } : { case: "yaml", value: input },
    });
  }
  const first = input.find((byte) => !" \t\r\n".includes(String.fromCharCode(byte)));
  const json = first === 0x7b || first === 0x5b; // { or [
  return create(DocumentSchema, { content: { case: json ? "json" : "rawYaml", value: input } });
}

/** textOf returns the text of a document, or undefined if it is absent. Bytes that are not UTF-8 are a TypeError. */
export function textOf(document: Document | undefined): string | undefined {
  const value = document?.content.value;
  return value instanceof Uint8Array ? decoder.decode(value) : value;
}

/** jsonOf returns the JSON of a document of a response, or undefined if it is absent. */
export function jsonOf(document: Document | undefined): JsonText | undefined {
  const text = textOf(document);
  return text === undefined ? undefined : new JsonText(text);
}
