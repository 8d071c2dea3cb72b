import type { Diagnostic } from "@codemirror/lint"
import type { Answer } from "./session"
import type { DocumentName, Fix, Range, Violation } from "./types"
import { fieldOf } from "./verdict"

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
  const violations = (list: Violation[], prefix: string) => {
    for (const violation of list) {
      const { document: at, severity, range, message, hint, fixes } = violation
      const text = prefix + [fieldOf(violation), message].filter(Boolean).join(": ")
      if (at === document) add(severity, range, [text, hint].filter(Boolean).join("\n"), fixes)
    }
  }
  for (const error of report.errors) {
    if (error.document === document) add("error", error.range, error.message, error.fixes)
  }
  violations(report.crd?.violations ?? [], "")
  // Kubernetes reports that rules were not checked, which follows from other violations. Only the Problems view shows it.
  violations((report.object?.violations ?? []).filter(({ severity }) => severity !== "info"), "")
  violations(report.object?.ratcheted ?? [], "Ratcheted: ")
  const warnings = [...(report.crd?.warnings ?? []), ...(report.object?.warnings ?? [])]
    .filter((warning) => warning.document === document)
  for (const { severity, range, message, hint, fixes } of warnings) {
    add(severity, range, [message, hint].filter(Boolean).join("\n"), fixes)
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
