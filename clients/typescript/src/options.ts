import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  type EvaluationOptions as EvaluationOptionsMessage,
  EvaluationOptionsSchema,
  FieldValidation,
  ObjectView,
  TraceMode,
} from "./gen/crdeval/v1/evaluation_pb.js";
import type { DocumentInput } from "./document.js";

/** CallOptions are the options of every call. */
export interface CallOptions {
  /** Aborts the call. It then fails with CANCELLED. */
  signal?: AbortSignal | undefined;
  /**
   * The time limit of the whole call in milliseconds, with all its batches and retries. It then fails with
   * DEADLINE_EXCEEDED. Infinity is no limit. Default: the option `timeoutMs` of the client, and no limit for streams.
   */
  timeoutMs?: number | undefined;
}

/** EvaluationOptions are the options of calls that evaluate objects. */
export interface EvaluationOptions extends CallOptions {
  /** How unknown and duplicate fields are handled. Default: "WARN". */
  fieldValidation?: "IGNORE" | "WARN" | "STRICT" | undefined;
  /** How much of each object is returned: all, only if it changed, or nothing. Default: "FULL". */
  view?: "FULL" | "CHANGED" | "NONE" | undefined;
  /** The time limit of each object in milliseconds. An object that exceeds it gets the error ITEM_DEADLINE. */
  itemTimeoutMs?: number | undefined;
  /** Adds metadata that files lack, such as a namespace and on updates the resourceVersion. Default: false. */
  completeMetadata?: boolean | undefined;
  /** Which rules are traced. Default: "NONE". */
  trace?: "NONE" | "FAILED" | "ALL" | undefined;
  /** Returns the whole metav1.Status of rejections. Default: false. */
  withStatus?: boolean | undefined;
  /** CRDs for this call only, at most 16. They replace registered CRDs with the same name, and are not registered. */
  crds?: DocumentInput[] | undefined;
}

/** toEvaluationOptions returns the message of the options. Values of another type or range are a RangeError. */
export function toEvaluationOptions(o: EvaluationOptions): EvaluationOptionsMessage {
  return create(EvaluationOptionsSchema, {
    fieldValidation: enumValue(FieldValidation, "fieldValidation", o.fieldValidation),
    view: enumValue(ObjectView, "view", o.view),
    trace: enumValue(TraceMode, "trace", o.trace),
    completeMetadata: o.completeMetadata ?? false,
    withStatus: o.withStatus ?? false,
    ...(o.itemTimeoutMs !== undefined && { itemTimeout: toDuration(o.itemTimeoutMs) }),
  });
}

function enumValue<E extends Record<string, string | number>>(
  names: E,
  option: string,
  value: keyof E | undefined,
): number {
  if (value === undefined) {
    return 0;
  }
  const number = names[value];
  if (typeof number !== "number") {
    throw new RangeError(`the option ${option} is ${JSON.stringify(value)}, which is not one of its values`);
  }
  return number;
}

function toDuration(ms: number): Duration {
  if (!Number.isFinite(ms)) {
    throw new RangeError(`the option itemTimeoutMs is ${ms}: it must be a finite number`);
  }
  const seconds = Math.trunc(ms / 1000);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) });
}

/** onThisHost reports whether the host of a URL is this host. */
export function onThisHost(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
