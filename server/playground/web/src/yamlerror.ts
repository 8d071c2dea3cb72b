import type { DocumentName, Input, Range, Report } from "./types"

/** Unreadable is a document that is not YAML, with the message and the place of the error. */
export interface Unreadable {
  document: DocumentName | undefined
  message: string
  reason: string
  range?: Range
}

/**
 * unreadable returns the errors of a report, and the rejection of an object that is not YAML. Their place is the line
 * that the message names: the YAML parser of Kubernetes reports no column.
 */
export function unreadable(report: Report, input: Input): Unreadable[] {
  const found: Unreadable[] = report.errors.map(({ document, message, reason, range }) => ({
    document: document || undefined, message, reason, range: lineIn(message, document && input[document]) ?? range,
  }))
  const object = report.object
  if (object && !object.allowed && object.violations.length === 0 && object.message) {
    const { message, reason } = object
    found.push({ document: "object", message, reason: reason ?? "", range: lineIn(message, input.object) })
  }
  return found
}

/** lineIn returns the line of the text that a message names, without its indentation. */
function lineIn(message: string, text: string | undefined): Range | undefined {
  const line = Number(/\byaml: line (\d+)/.exec(message)?.[1])
  const lines = text?.split("\n") ?? []
  const content = lines[line - 1]
  if (content === undefined) return undefined
  const indent = content.length - content.trimStart().length
  const offset = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, indent)
  const column = indent + 1
  const length = content.length - indent
  return {
    start: { line, column, offset },
    end: { line, column: column + length, offset: offset + length },
  }
}
