import type { Answer } from "./session"
import type { DocumentName, Fix, Range, ReportError, Violation, Warning } from "./types"
import { count, fieldOf } from "./verdict"

/** Actions are what the views can do to the page. */
export interface Actions {
  show: (document: DocumentName, range: Range) => void
  apply: (fix: Fix) => void
}

export const documentTitles = { crd: "CRD", object: "Object", oldObject: "Old object" } as const

/** Problems lists errors, violations and warnings with positions and quick fixes. */
export function Problems({ answer, actions }: { answer: Answer; actions: Actions }) {
  const { crd, object } = answer.report
  const { errors } = answer.report
  const violations = [...(crd?.violations ?? []), ...(object?.violations ?? [])]
  const warnings = [...(crd?.warnings ?? []), ...(object?.warnings ?? [])]
  const ratcheted = object?.ratcheted ?? []
  const empty = errors.length + violations.length + warnings.length + ratcheted.length === 0
  return (
    <div class="problems">
      {empty && <p class="empty">No problems.</p>}
      {errors.length > 0 && (
        <Section title={`Errors (${errors.length})`}>
          {errors.map((error) => <ErrorItem error={error} actions={actions} />)}
        </Section>
      )}
      {violations.length > 0 && (
        <Section title={`Violations (${violations.length})`}>
          {violations.map((violation) => <Item kind="bad" problem={violation} actions={actions} />)}
        </Section>
      )}
      {warnings.length > 0 && (
        <Section title={`Warnings (${warnings.length})`}>
          {warnings.map((warning) => <Item kind="warn" problem={warning} actions={actions} />)}
        </Section>
      )}
      {ratcheted.length > 0 && (
        <Section
          title={`Ratcheted (${ratcheted.length})`}
          note={`The stored object already has ${count(ratcheted.length, "violation")} in values that the update does not change.`}
        >
          {ratcheted.map((violation) => <Item kind="info" problem={violation} actions={actions} />)}
        </Section>
      )}
    </div>
  )
}

function Section({ title, note, children }: { title: string; note?: string; children: preact.ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {note && <p class="note">{note}</p>}
      <ul class="items">{children}</ul>
    </section>
  )
}

function Item(props: { kind: string; problem: Warning & Partial<Violation>; actions: Actions }) {
  const { kind, problem, actions } = props
  const { document, range, message, rule, ruleRange, hint, fixes } = problem
  const field = fieldOf(problem)
  return (
    <li class={`item ${kind}`}>
      <p>
        <Place document={document} range={range} actions={actions} /> {field && <code class="field">{field}</code>}{" "}
        <span>{message}</span>
      </p>
      {rule && (
        <p class="rule">
          Rule <Place document="crd" range={ruleRange} actions={actions} /> <code>{rule}</code>
        </p>
      )}
      {hint && <p class="hint">{hint}</p>}
      <Fixes fixes={fixes} actions={actions} />
    </li>
  )
}

function ErrorItem({ error, actions }: { error: ReportError; actions: Actions }) {
  return (
    <li class="item bad">
      <p>
        {error.document && <Place document={error.document} range={error.range} actions={actions} />}{" "}
        <code class="field">{error.reason}</code> {error.message}
      </p>
      <Fixes fixes={error.fixes} actions={actions} />
    </li>
  )
}

/** Place is a button that moves the cursor to a position. Without a position it is the name of the document. */
export function Place(props: { document: DocumentName; range?: Range; actions: Actions }) {
  const { document, range, actions } = props
  const title = documentTitles[document]
  if (!range) return <span class="place">{title}</span>
  const { line, column } = range.start
  return (
    <button
      type="button" class="place" onClick={() => actions.show(document, range)}
      aria-label={`${title}, line ${line}, column ${column}`}
    >
      {title} {line}:{column}
    </button>
  )
}

/** Fixes are the buttons of quick fixes. */
export function Fixes({ fixes, actions }: { fixes: Fix[]; actions: Actions }) {
  if (fixes.length === 0) return null
  return (
    <p class="fixes">
      {fixes.map((fix) => <button type="button" class="fix" onClick={() => actions.apply(fix)}>{fix.title}</button>)}
    </p>
  )
}
