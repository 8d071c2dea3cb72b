import type { Diagnostic } from "@codemirror/lint"
import type { Answer } from "./session"
import type { DocumentName, Fix, Range, Violation } from "./types"
import { unreadable } from "./yamlerror"

/** diagnosticsOf returns the marks of one document. */
export function diagnosticsOf(
  { report, input }: Answer, document: DocumentName, apply: (fix: Fix) => void,
): Diagnostic[] {
  const text = input[document]
  const found: Diagnostic[] = []
  const add = (severity: Diagnostic["severity"], range: Range | undefined, message: string, fixes: Fix[]) => {
    if (!range) return
    const [from, to] = mark(text, range)
    const actions = fixes.map((fix) => ({ name: fix.title, apply: () => apply(fix) }))
    found.push({ from, to, severity, message, actions })
  }
  const violations = (severity: Diagnostic["severity"], list: Violation[], prefix: string) => {
    for (const { document: at, range, field, message, hint, fixes } of list) {
      // Kubernetes reports that rules were not checked for the field "<nil>". It concerns no line of the document.
      if (at === document && field !== "<nil>") add(severity, range, [`${prefix}${field}: ${message}`, hint].filter(Boolean).join("\n"), fixes)
    }
  }
  for (const error of unreadable(report)) {
    if (error.document === document) add("error", error.range, error.message, [])
  }
  violations("error", report.crd?.violations ?? [], "")
  violations("error", report.object?.violations ?? [], "")
  violations("info", report.object?.ratcheted ?? [], "Ratcheted: ")
  const ratcheted = new Set(report.object?.ratcheted.map(({ field, message }) => `${field}: ${message}`))
  const warnings = [...(report.crd?.warnings ?? []), ...(report.object?.warnings ?? [])]
    .filter((warning) => warning.document === document && !ratcheted.has(warning.message))
  for (const { range, message, hint, fixes } of warnings) {
    add("warning", range, [message, hint].filter(Boolean).join("\n"), fixes)
  }
  const warned = new Set(warnings.map(({ range }) => range?.start.offset))
  if (document === "object") {
    for (const { op, range, path, hint, fixes } of report.object?.changes ?? []) {
      if (op === "pruned" && !warned.has(range?.start.offset)) add("warning", range, [`${path} is pruned.`, hint].filter(Boolean).join("\n"), fixes)
    }
  }
  if (document === "crd") {
    for (const rule of report.crd?.rules ?? []) {
      for (const { range, hint, fixes } of rule.percent > 100 ? rule.bounds : []) add("warning", range, hint, fixes)
    }
  }
  return found.sort((a, b) => a.from - b.from)
}

/** mark returns the part of a range that is marked: its first line, and at least one character where there is one. */
function mark(text: string, range: Range): [number, number] {
  const from = Math.min(range.start.offset, text.length)
  const newline = text.indexOf("\n", from)
  const line = newline < 0 ? text.length : newline
  let to = Math.min(Math.max(range.end.offset, from), line)
  if (to === from && from < line) to = from + 1
  return [from, to]
}
