// What both entry points export, apart from Client.
export { BaseClient, type CommonOptions, manifestOf } from "./client.js";
export {
  createObject,
  type DocumentInput,
  jsonPatch,
  mergePatch,
  textOf,
  toDocument,
  updateObject,
  Write,
  type WriteOptions,
} from "./document.js";
export { CrdevalError, type Reason, type StatusCode } from "./error.js";
export { JsonSyntaxError, JsonText, type JsonValue, parseJson, stringifyJson } from "./json.js";
export type { CallOptions, EvaluationOptions } from "./options.js";
export type { FieldChange, Hint, Position, Registered, Rejection, Transformed, Verdict, Violation, Warning } from "./results.js";
export type { RetryOptions } from "./retry.js";
export type { Source } from "./stream.js";
export type { WatchEvent } from "./watch.js";
export type { Crd } from "./gen/crdeval/v1/registry_pb.js";
export type { ServerLimits } from "./gen/crdeval/v1/server_pb.js";
