import { type Actions, Place } from "./problems"
import { json } from "./stored"
import type { Report, Step, Trace } from "./types"
import { count } from "./verdict"

const order = { error: 0, failed: 1, ratcheted: 2, passed: 3, skipped: 4 }

/** Traces shows the values of the sub-expressions of each evaluated rule. Failed rules are first and open. */
export function Traces({ report, actions }: { report: Report; actions: Actions }) {
  const { traces, omittedTraces } = report
  if (traces.length === 0) {
    return <p class="empty">{report.object ? "No rule of the CRD applies to this object." : "No object has been evaluated."}</p>
  }
  const sorted = [...traces].sort((a, b) => order[a.outcome] - order[b.outcome])
  return (
    <div class="traces">
      {sorted.map((trace) => <TraceItem key={`${trace.pointer} ${trace.rule}`} trace={trace} actions={actions} />)}
      {omittedTraces ? <p class="note">{count(omittedTraces, "further trace")} not shown.</p> : null}
    </div>
  )
}

function TraceItem({ trace, actions }: { trace: Trace; actions: Actions }) {
  const { path, rule, range, outcome, skipped, message, cost, tree, omittedSteps } = trace
  return (
    <details class="trace" open={outcome === "failed" || outcome === "error" || outcome === "ratcheted"}>
      <summary>
        <span class={`outcome ${outcome}`}>{outcome}</span> <code class="field">{path || "(object)"}</code>{" "}
        <code class="text">{rule}</code> <span class="cost">cost {cost.toLocaleString("en")}</span>
      </summary>
      <div class="body">
        <p class="note">
          <Place document="crd" range={range} actions={actions} /> {message} {skipped && `Skipped: ${skipped}`}
        </p>
        {tree && <ul class="tree"><StepItem step={tree} /></ul>}
        {omittedSteps ? <p class="note">{count(omittedSteps, "further value")} not shown.</p> : null}
      </div>
    </details>
  )
}

function StepItem({ step }: { step: Step }) {
  const { expression, value, error, decisive, children } = step
  const line = (
    <>
      <code class="expression">{expression}</code> <span class="equals">=</span>{" "}
      {error !== undefined && error !== ""
        ? <code class="value error">{error}</code>
        : <code class={`value ${typeof value}`}>{value === undefined ? "(too long)" : json(value)}</code>}
      {decisive && <span class="decisive">decisive</span>}
    </>
  )
  if (children.length === 0) return <li class={decisive ? "step is-decisive" : "step"}>{line}</li>
  return (
    <li class={decisive ? "step is-decisive" : "step"}>
      <details open>
        <summary>{line}</summary>
        <ul>{children.map((child) => <StepItem step={child} />)}</ul>
      </details>
    </li>
  )
}
