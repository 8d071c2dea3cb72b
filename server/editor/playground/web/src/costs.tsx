import { type Actions, Fixes, Place } from "./problems"
import type { Report, Rule, Version } from "./types"

/** Costs shows the estimated cost of each rule, its limit, and bounds that reduce the cost to the limit. */
export function Costs({ report, actions }: { report: Report; actions: Actions }) {
  const crd = report.crd
  if (!crd) return <p class="empty">No CRD has been evaluated.</p>
  if (crd.rules.length === 0) return <p class="empty">The CRD has no rules (x-kubernetes-validations).</p>
  return (
    <div class="costs">
      {crd.versions.map((version) => {
        const rules = crd.rules.filter((rule) => rule.version === version.name).sort((a, b) => b.percent - a.percent)
        return rules.length > 0 && <VersionCosts version={version} rules={rules} actions={actions} />
      })}
      {crd.lowestMinor ? (
        <p class="note">
          Kubernetes 1.{crd.lowestMinor} or newer accepts all rules and formats. {crd.lowestMinorBecause}
        </p>
      ) : null}
    </div>
  )
}

function VersionCosts({ version, rules, actions }: { version: Version; rules: Rule[]; actions: Actions }) {
  return (
    <section>
      <h3>Version {version.name}</h3>
      <div class="cost total">
        <p>All rules together</p>
        <Bar label={`All rules of ${version.name}`} {...version} />
      </div>
      {rules.map((rule) => (
        <div class="cost">
          <p>
            <code class="field">{rule.path || "(object)"}</code> <code class="text">{rule.rule}</code>{" "}
            <Place document="crd" range={rule.range} actions={actions} />
          </p>
          <Bar label={`Cost of ${rule.rule}`} {...rule} />
          {rule.percent > 100 && rule.bounds.length > 0 && (
            <ul class="bounds">
              {rule.bounds.map((bound) => (
                <li>
                  <span>{bound.hint}</span> <Fixes fixes={bound.fixes} actions={actions} />
                </li>
              ))}
            </ul>
          )}
        </div>
      ))}
    </section>
  )
}

/** Bar draws a cost in percent of its limit. A cost over the limit fills the bar. */
function Bar({ label, cost, limit, percent }: { label: string; cost: number; limit: number; percent: number }) {
  const state = percent > 100 ? "over" : percent > 70 ? "near" : "fits"
  const ratio = percent > 1000 ? `${compact(percent / 100)} times the limit` : `${compact(percent)}% of the limit`
  const text = `${ratio}: ${compact(cost)} of ${compact(limit)}`
  return (
    <div class="meter">
      <div
        class={`bar ${state}`} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100}
        aria-valuenow={Math.min(100, Math.round(percent))} aria-valuetext={text}
      >
        <div class="fill" style={{ width: `${Math.min(100, Math.max(percent, 0.5))}%` }} />
      </div>
      <span class={`figure ${state}`}>{text}</span>
    </div>
  )
}

/** compact prints a number with two or three significant digits. */
function compact(value: number): string {
  if (value > 0 && value < 0.1) return "<0.1"
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value)
}
