import type { Document } from "./gen/crdeval/v1/document_pb.js";
import type {
  ObjectChanges,
  RuleTraces,
  TransformedObject,
  TransformResult,
  Verdict as VerdictMessage,
  VerdictResult,
} from "./gen/crdeval/v1/evaluation_pb.js";
import { type RegisterCrdsResult, RegistrationOutcome, type Crd } from "./gen/crdeval/v1/registry_pb.js";
import type { CrdReport } from "./gen/crdeval/v1/report_pb.js";
import {
  type FieldChange as FieldChangeMessage,
  PipelineStep,
  type Rejection as RejectionMessage,
  type Violation as ViolationMessage,
  type Warning as WarningMessage,
} from "./gen/crdeval/v1/violation_pb.js";
import { jsonOf } from "./document.js";
import { CrdevalError } from "./error.js";
import type { JsonText } from "./json.js";

/** Position is a position in a document that the caller sent. */
export interface Position {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1, in Unicode code points. */
  readonly column: number;
  /** The offset in bytes of UTF-8, from 0. */
  readonly offset: number;
}

/** Hint is a correction that crdeval suggests. */
export interface Hint {
  /** A sentence for people. */
  readonly text: string;
  /** The probably intended field as a JSON pointer. "" if the hint is not about the field. */
  readonly pointer: string;
  /** The probably intended value. Undefined if the hint is not about a value. */
  readonly replacement: JsonText | undefined;
}

/** Violation is one reason to reject an object or a CRD. */
export interface Violation {
  /**
   * The type, as in the causes of a metav1.Status: FieldValueRequired, FieldValueInvalid, … Other reasons are no causes:
   * SyntaxError, DecodeError, UnknownField, DuplicateField and Rejected.
   */
  readonly type: string;
  /** The field as Kubernetes writes it: `spec.containers[0].name`. Programs should use `pointer`. */
  readonly field: string;
  /** The text of Kubernetes, without the field, or one short sentence of crdeval. */
  readonly message: string;
  /** The detail part of the message. */
  readonly detail: string;
  /** The invalid value. Undefined if Kubernetes leaves it out. */
  readonly badValue: JsonText | undefined;
  /** The field as a JSON pointer into the object. "" is the whole object. */
  readonly pointer: string;
  /** The schema keyword, as a JSON pointer into openAPIV3Schema of the version. "" if no keyword reports it. */
  readonly schemaPointer: string;
  /** The position of the field in the document. Undefined if unknown. */
  readonly position: Position | undefined;
  /** The step of the write that found it. */
  readonly step: keyof typeof PipelineStep;
  /** The rule that failed. Undefined for violations of the schema and of metadata. */
  readonly rule: { readonly rule: string; readonly index: number; readonly reason: string } | undefined;
  /** A suggested correction. Undefined if none is likely. */
  readonly hint: Hint | undefined;
}

/** FieldChange is a field that was removed from or added to an object. */
export interface FieldChange {
  /** The path as Kubernetes writes it. */
  readonly path: string;
  /** The path as a JSON pointer. */
  readonly pointer: string;
  /** The value that was removed or added. */
  readonly value: JsonText | undefined;
  /** The position of a removed field. */
  readonly position: Position | undefined;
}

/** Rejection is what an API server would answer instead of storing an object. */
export interface Rejection {
  /** The HTTP status: 400, 404, 409, 422, … */
  readonly code: number;
  /** The reason of the metav1.Status: BadRequest, Invalid, … */
  readonly reason: string;
  /** The text that kubectl prints. */
  readonly message: string;
  /** The whole metav1.Status. Undefined without the option `withStatus`. */
  readonly status: JsonText | undefined;
}

/** Warning is something about a document that does not reject it. */
export interface Warning {
  /** UnknownField, DuplicateField, Ratcheted, Deprecated, Warning, or Notice for a note of crdeval. */
  readonly type: string;
  /** The text of the Warning header of an API server. */
  readonly text: string;
  /** The field as Kubernetes writes it. "" for a warning without one. */
  readonly field: string;
  /** The field as a JSON pointer. */
  readonly pointer: string;
  readonly position: Position | undefined;
  readonly hint: Hint | undefined;
}

interface Evaluated {
  /** Why crdeval could not evaluate the object. Then all other fields are empty. */
  readonly error: CrdevalError | undefined;
  /** What the API server would answer instead of an object. */
  readonly rejection: Rejection | undefined;
  /** Why there is a rejection, which has at least one violation. */
  readonly violations: readonly Violation[];
  /** The warnings that the API server would send, and notes of crdeval. */
  readonly warnings: readonly Warning[];
  /** The unknown fields that were removed. A conversion to another version also lists the nulls that it removed. */
  readonly pruned: readonly FieldChange[];
  /** The defaults that were added. */
  readonly defaulted: readonly FieldChange[];
  /** The resulting object. Undefined if rejected or not requested. `validate` returns none. */
  readonly object: JsonText | undefined;
  /** The revision of the CRD that was used. */
  readonly revision: string;
}

/** Verdict is the result of a write: whether an API server would accept it, and why not. */
export interface Verdict extends Evaluated {
  /** Whether the object was evaluated and would be accepted. */
  readonly allowed: boolean;
  /** Violations that remain once unknown and duplicate fields are fixed, with strict field validation. */
  readonly next: readonly Violation[];
  /** Violations of values that an update does not change. They do not reject the object. */
  readonly ratcheted: readonly Violation[];
  /** The object that the API server would store. */
  readonly storedObject: JsonText | undefined;
  /** The traces of rules that the option `trace` requests. */
  readonly ruleTraces: RuleTraces | undefined;
}

/** Transformed is the result of prune, default, read or convert. */
export interface Transformed extends Evaluated {
  /** Whether the result differs from the object that was sent. */
  readonly changed: boolean;
}

/** Registered is the result of registering one CRD. */
export interface Registered {
  /** The name of the CRD. "" if it could not be read from the manifest. */
  readonly name: string;
  /** Whether the CRD is registered now. */
  readonly accepted: boolean;
  readonly outcome: keyof typeof RegistrationOutcome;
  readonly violations: readonly Violation[];
  readonly rejection: Rejection | undefined;
  /** Why crdeval could not validate or store the CRD. */
  readonly error: CrdevalError | undefined;
  /** The whole report. */
  readonly report: CrdReport | undefined;
  /** The CRD after the call. Undefined unless accepted. */
  readonly crd: Crd | undefined;
}

/** toVerdict converts a result of the API. */
export function toVerdict(r: VerdictResult): Verdict {
  const verdict: Partial<VerdictMessage> = r.result.case === "verdict" ? r.result.value : {};
  const object = jsonOf(verdict.object);
  return {
    ...evaluated(r.result.case === "error" ? CrdevalError.fromStatus(r.result.value) : undefined, verdict),
    allowed: verdict.allowed ?? false,
    next: toViolations(verdict.next),
    ratcheted: toViolations(verdict.ratcheted),
    object,
    storedObject: jsonOf(verdict.storedObject) ?? object,
    ruleTraces: verdict.ruleTraces,
  };
}

/** toTransformed converts a result of the API. */
export function toTransformed(r: TransformResult): Transformed {
  const object: Partial<TransformedObject> = r.result.case === "transformed" ? r.result.value : {};
  return {
    ...evaluated(r.result.case === "error" ? CrdevalError.fromStatus(r.result.value) : undefined, object),
    changed: object.changed ?? false,
  };
}

/** toRegistered converts a result of the API. */
export function toRegistered(r: RegisterCrdsResult): Registered {
  const registration = r.result.case === "registration" ? r.result.value : undefined;
  return {
    name: r.crd,
    accepted: registration?.accepted ?? false,
    outcome: enumName(RegistrationOutcome, registration?.outcome ?? 0),
    violations: toViolations(registration?.report?.violations),
    rejection: toRejection(registration?.report?.rejection),
    error: r.result.case === "error" ? CrdevalError.fromStatus(r.result.value) : undefined,
    report: registration?.report,
    crd: registration?.crd,
  };
}

interface EvaluatedMessage {
  rejection?: RejectionMessage | undefined;
  violations?: ViolationMessage[] | undefined;
  warnings?: WarningMessage[] | undefined;
  changes?: ObjectChanges | undefined;
  object?: Document | undefined;
  revision?: string | undefined;
}

function evaluated(error: CrdevalError | undefined, m: EvaluatedMessage): Evaluated {
  return {
    error,
    rejection: toRejection(m.rejection),
    violations: toViolations(m.violations),
    warnings: (m.warnings ?? []).map(toWarning),
    pruned: (m.changes?.pruned ?? []).map(toFieldChange),
    defaulted: (m.changes?.defaulted ?? []).map(toFieldChange),
    object: jsonOf(m.object),
    revision: m.revision ?? "",
  };
}

function toRejection(r: RejectionMessage | undefined): Rejection | undefined {
  return r && { code: r.code, reason: r.reason, message: r.message, status: jsonOf(r.status) };
}

function toFieldChange(c: FieldChangeMessage): FieldChange {
  return { path: c.path, pointer: c.pointer, value: jsonOf(c.value), position: toPosition(c.position) };
}

function toWarning(w: WarningMessage): Warning {
  const { type, text, field, pointer } = w;
  return { type, text, field, pointer, position: toPosition(w.position), hint: toHint(w.hint) };
}

function toHint(h: ViolationMessage["hint"]): Hint | undefined {
  return h && { text: h.text, pointer: h.pointer, replacement: jsonOf(h.replacement) };
}

/** toViolations converts the violations of a result or a report. */
export function toViolations(list: ViolationMessage[] | undefined): Violation[] {
  return (list ?? []).map((v) => ({
    type: v.type,
    field: v.field,
    message: v.message,
    detail: v.detail,
    badValue: jsonOf(v.badValue),
    pointer: v.pointer,
    schemaPointer: v.schemaPointer,
    position: toPosition(v.position),
    step: enumName(PipelineStep, v.step),
    rule: v.rule && { rule: v.rule.rule, index: v.rule.index, reason: v.rule.reason },
    hint: toHint(v.hint),
  }));
}

function toPosition(p: ViolationMessage["position"]): Position | undefined {
  return p && { line: p.line, column: p.column, offset: p.offset };
}

/**
 * enumName returns the name of a value. UNSPECIFIED stands for values that this version of the client does not know.
 */
export function enumName<E extends Record<string, string | number>>(names: E, value: number): keyof E {
  return (names[value] as keyof E | undefined) ?? ("UNSPECIFIED" as keyof E);
}
