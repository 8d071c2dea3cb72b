// The JSON types of package server/editor/playground/page, which documents each field.

export interface Input {
  crd: string
  object: string
  oldObject: string
  fieldValidation: string
  subresource: string
  version: string
  minor: number
}

export interface ExplainInput {
  crd: string
  path: string
  version: string
  minor: number
  recursive: boolean
}

export interface Explanation {
  text?: string
  error?: ReportError
}

export interface CursorInput {
  crd: string
  object?: string
  oldObject?: string
  document: DocumentName
  offset: number
  minor: number
}

export interface Completions {
  range?: Range
  items: CompletionItem[]
  error?: ReportError
}

export interface CompletionItem {
  kind: "field" | "enum" | "value" | "type"
  label: string
  detail?: string
  text: string
  filter: string
  description?: string
  details?: Detail[]
  deprecated?: boolean
}

export interface Detail {
  name: string
  values?: string[]
  note?: string
}

export interface Hover {
  field?: FieldInfo
  error?: ReportError
}

/** FieldInfo is report.Field. */
export interface FieldInfo {
  range: Range
  path: string
  type: string
  details: Detail[]
  text: string
}

export interface Report {
  crd?: CRD
  object?: ObjectVerdict
  traces: Trace[]
  omittedTraces?: number
  table?: { text: string; wideText: string }
  minors: number[]
  errors: ReportError[]
}

export type DocumentName = "crd" | "object" | "oldObject"

export interface ReportError {
  reason: string
  message: string
  document?: DocumentName | ""
  range?: Range
  fixes: Fix[]
}

export interface Position {
  line: number
  column: number
  offset: number
}

export interface Range {
  start: Position
  end: Position
}

export interface CRD {
  accepted: boolean
  name: string
  kind: string
  message?: string
  versions: Version[]
  violations: Violation[]
  warnings: Warning[]
  rules: Rule[]
  lowestMinor?: number
  lowestMinorBecause?: string
}

export interface Version {
  name: string
  served: boolean
  storage: boolean
  cost: number
  limit: number
  percent: number
  subresources: string[]
}

export interface Rule {
  version: string
  path: string
  schemaPointer: string
  rule: string
  range?: Range
  transition: boolean
  cost: number
  limit: number
  percent: number
  bounds: Bound[]
}

export interface Bound {
  path: string
  keyword: string
  suggested?: number
  range?: Range
  hint: string
  fixes: Fix[]
}

export interface ObjectVerdict {
  allowed: boolean
  operation: string
  code: number
  reason?: string
  message?: string
  violations: Violation[]
  ratcheted: Violation[]
  warnings: Warning[]
  changes: Change[]
  omittedChanges?: number
  submitted: string
  result?: string
  version?: string
}

export interface Warning {
  document: DocumentName
  severity: "error" | "warning" | "info"
  type: string
  message: string
  range?: Range
  hint?: string
  fixes: Fix[]
}

export interface Violation extends Warning {
  field: string
  badValue?: unknown
  rule?: string
  ruleRange?: Range
}

export interface Fix {
  title: string
  edits: Edit[]
}

export interface Edit {
  document: DocumentName
  start: Position
  end: Position
  text: string
}

export interface Change {
  path: string
  op: "pruned" | "defaulted" | "dropped" | "set" | "changed"
  before?: unknown
  after?: unknown
  range?: Range
  hint?: string
  fixes: Fix[]
}

export interface Trace {
  path: string
  pointer: string
  rule: string
  range?: Range
  outcome: "passed" | "failed" | "error" | "skipped" | "ratcheted"
  skipped?: string
  message?: string
  cost: number
  tree?: Step
  omittedSteps?: number
}

export interface Step {
  expression: string
  value?: unknown
  error?: string
  decisive?: boolean
  children: Step[]
}

export interface Example {
  id: string
  title: string
  description: string
  input: Partial<Input>
}
