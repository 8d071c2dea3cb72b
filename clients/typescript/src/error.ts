import { createRegistry } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type CrdReport, CrdReportSchema } from "./gen/crdeval/v1/report_pb.js";
import { ErrorReason } from "./gen/crdeval/v1/error_reason_pb.js";
import {
  type BadRequest,
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";
import type { Registered, Transformed, Verdict } from "./results.js";
import type { Status } from "./gen/google/rpc/status_pb.js";

/** details has the types of the details of errors. */
export const details = createRegistry(ErrorInfoSchema, RetryInfoSchema, BadRequestSchema, CrdReportSchema);

/** StatusCode is the name of a code of gRPC. */
export type StatusCode =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** Reason is the reason of an error, as docs/api.md lists them. */
export type Reason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">;

/** CrdevalError is an error of a call, or of one item of a call. It never means that an object is valid or invalid. */
export class CrdevalError extends Error {
  override readonly name = "CrdevalError";
  /** The code of gRPC. */
  readonly code: StatusCode;
  /** The reason. It is undefined for errors that do not come from crdeval, such as a lost connection. */
  readonly reason: Reason | undefined;
  /** The values that the message mentions, such as `crd`, `limit` or `field`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The pause after which a rejected call can be repeated. It is undefined unless the server gives one. */
  readonly retryDelayMs: number | undefined;
  /**
   * The invalid fields of the request, if the error has a google.rpc.BadRequest. crdeval itself uses metadata.field.
   */
  readonly badRequest: BadRequest | undefined;
  /** The report about an inline CRD that an API server would reject (CRD_REJECTED). */
  readonly report: CrdReport | undefined;
  /**
   * The results of the earlier requests, if a later request of `validate` or `admit` fails. Result i belongs to item i.
   */
  verdicts: readonly Verdict[] = [];
  /** The results of the earlier requests, if a later request of `prune`, `default`, `read` or `convert` fails. */
  transformed: readonly Transformed[] = [];
  /** The results of the earlier requests, if a later request of `register` fails. */
  registered: readonly Registered[] = [];

  private constructor(found: ConnectError) {
    super(found.rawMessage, { cause: found });
    const info = found.findDetails(ErrorInfoSchema).find((i) => i.domain === "crdeval.dev");
    const delay = found.findDetails(RetryInfoSchema)[0]?.retryDelay;
    this.code = codeName(found.code);
    this.reason = info !== undefined && info.reason in ErrorReason ? (info.reason as Reason) : undefined;
    this.metadata = { ...info?.metadata };
    this.retryDelayMs = delay === undefined ? undefined : Number(delay.seconds) * 1000 + delay.nanos / 1e6;
    this.badRequest = found.findDetails(BadRequestSchema)[0];
    this.report = found.findDetails(CrdReportSchema)[0];
  }

  /** from returns the error of a call. Errors of other kinds, such as a TypeError of an argument, stay as they are. */
  static from(error: unknown): unknown {
    if (!(error instanceof ConnectError)) {
      return error;
    }
    return new CrdevalError(error);
  }

  /** fromStatus returns the error of one item. */
  static fromStatus(status: Status): CrdevalError {
    return new CrdevalError(connectError(status));
  }
}

/** connectError returns the ConnectError of a status. */
export function connectError(status: Status): ConnectError {
  const error = new ConnectError(status.message, status.code);
  for (const detail of status.details) {
    const message = anyUnpack(detail, details);
    const desc = message === undefined ? undefined : details.getMessage(message.$typeName);
    if (message !== undefined && desc !== undefined) {
      error.details.push({ desc, value: message });
    }
  }
  return error;
}

/** codeName returns the name of a code as gRPC spells it. */
function codeName(code: Code): StatusCode {
  if (code === Code.Canceled) {
    return "CANCELLED";
  }
  return (Code[code] ?? "Unknown").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase() as StatusCode;
}

/** Results has the fields of a response with results. Responses to writes have a token. */
export interface Results<R> {
  results: R[];
  token?: string;
}

/**
 * partial has the response of the earlier requests for the error of a call with several requests: the results of the
 * elements before the first one without a result, and the token.
 */
export const partial = new WeakMap<object, Results<unknown>>();
