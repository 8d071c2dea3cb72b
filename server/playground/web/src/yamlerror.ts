import type { Report, ReportError } from "./types"

/** unreadable returns the errors of a report, and the rejection of an object that cannot be read. */
export function unreadable({ errors, object }: Report): ReportError[] {
  if (!object || object.allowed || object.violations.length > 0 || !object.message) return errors
  return [...errors, { document: "object", message: object.message, reason: object.reason ?? "", range: object.range }]
}
