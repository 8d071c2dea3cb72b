import type { Change, Report, Violation } from "./types"

/** Verdict is the answer in one line. */
export interface Verdict {
  kind: "good" | "bad" | "error" | "none"
  title: string
  detail: string
}

/** verdictOf returns the verdict of a report. */
export function verdictOf(report: Report | undefined): Verdict {
  if (!report) return { kind: "none", title: "Waiting", detail: "The first evaluation is in progress." }
  const { crd, object, errors } = report
  const error = errors[0]
  if (error) return { kind: "error", title: object ? "Partly evaluated" : "Not evaluated", detail: error.message }
  if (!crd) return { kind: "none", title: "No CRD", detail: "Enter a CustomResourceDefinition, or open an example." }
  if (!crd.accepted) {
    return { kind: "bad", title: "CRD rejected", detail: count(crd.violations.length, "violation") }
  }
  if (!object) return { kind: "good", title: "CRD accepted", detail: "Enter an object to evaluate it." }
  const parts = [...changeCounts(object.changes), ...some(object.warnings.length, "warning")]
  if (object.ratcheted.length > 0) parts.push(count(object.ratcheted.length, "violation") + " ratcheted")
  if (object.allowed) {
    return {
      kind: "good", title: object.operation === "update" ? "Update accepted" : "Accepted",
      detail: parts.join(", ") || "stored as submitted",
    }
  }
  const status = [object.code, object.reason].filter(Boolean).join(" ")
  const found = count(object.violations.length, "violation")
  return {
    kind: "bad", title: object.operation === "update" ? "Update rejected" : "Rejected",
    detail: [`${found} (${status})`, ...some(object.warnings.length, "warning")].join(", "),
  }
}

/** changeCounts returns "2 fields defaulted" for each kind of change that matters to a reader. */
function changeCounts(changes: Change[]): string[] {
  const counts: string[] = []
  for (const op of ["pruned", "defaulted", "dropped"] as const) {
    const number = changes.filter((change) => change.op === op).length
    if (number > 0) counts.push(`${count(number, "field")} ${op}`)
  }
  return counts
}

/** fieldOf returns the field of a violation. Kubernetes' text "<nil>" stands for no field. */
export function fieldOf({ field }: Partial<Violation>): string | undefined {
  return field === "<nil>" ? undefined : field
}

/** count returns a number with its noun: 1 field, 2 fields. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`
}

function some(number: number, noun: string): string[] {
  return number > 0 ? [count(number, noun)] : []
}
