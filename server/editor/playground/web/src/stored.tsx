import { Diff } from "./editor"
import { type Actions, Fixes, Place } from "./problems"
import type { Change, Report } from "./types"
import { count } from "./verdict"

/** Stored compares the submitted object with the one that would be stored. */
export function Stored({ report, actions }: { report: Report; actions: Actions }) {
  const object = report.object
  if (!object) return <p class="empty">No object has been evaluated.</p>
  const { changes, omittedChanges } = object
  return (
    <div class="stored">
      <section aria-label="Changed fields">
        <h3>Changed fields ({changes.length + (omittedChanges ?? 0)})</h3>
        {changes.length === 0 && <p class="empty">The object is stored as submitted.</p>}
        <ul class="items changes">
          {changes.map((change) => <ChangeItem change={change} actions={actions} />)}
        </ul>
        {omittedChanges ? <p class="note">{count(omittedChanges, "further change")} not shown.</p> : null}
      </section>
      <section class="compare" aria-label="Comparison">
        <h3>{object.result ? "Submitted → stored" : "Submitted"}</h3>
        {object.result
          ? <Diff label="Stored object, compared with the submitted object" before={object.submitted} after={object.result} />
          : <p class="empty">The write is rejected, so nothing is stored.</p>}
      </section>
    </div>
  )
}

function ChangeItem({ change, actions }: { change: Change; actions: Actions }) {
  const { op, path, before, after, range, hint, fixes } = change
  return (
    <li class="item change">
      <p>
        <span class={`op ${op}`}>{op}</span> <code class="field">{path}</code>{" "}
        {range && <Place document="object" range={range} actions={actions} />}
      </p>
      <p class="values">
        {before !== undefined && <del>{json(before)}</del>} {after !== undefined && <ins>{json(after)}</ins>}
      </p>
      {hint && <p class="hint">{hint}</p>}
      <Fixes fixes={fixes} actions={actions} />
    </li>
  )
}

/** json prints a value on one line, shortened. */
export function json(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 160 ? `${text.slice(0, 157)}…` : text
}
