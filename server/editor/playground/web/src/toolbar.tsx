import { useState } from "preact/hooks"
import { chooseTheme, chosenTheme } from "./theme"
import type { Input, Report } from "./types"

interface ToolbarProps {
  open: (dialog: "gallery" | "shortcuts") => void
  share: () => void
  /** forgetToken is set if the page sends a bearer token. */
  forgetToken?: () => void
}

/** Toolbar is the header of the page. */
export function Toolbar({ open, share, forgetToken }: ToolbarProps) {
  const [theme, setTheme] = useState(chosenTheme())
  return (
    <header class="toolbar">
      <h1><span class="mark" aria-hidden="true">{"{✓}"}</span> crdeval <span class="sub">playground</span></h1>
      <div class="actions">
        <button type="button" onClick={() => open("gallery")}>Examples</button>
        <button type="button" onClick={share}>Copy link</button>
        <button type="button" class="keys" onClick={() => open("shortcuts")}>Shortcuts</button>
        {forgetToken && <button type="button" onClick={forgetToken}>Forget token</button>}
        <label>
          <span class="hidden">Theme</span>
          <select
            value={theme}
            onChange={(event) => {
              setTheme(event.currentTarget.value)
              chooseTheme(event.currentTarget.value)
            }}
          >
            <option value="">System theme</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
      </div>
    </header>
  )
}

interface OptionsProps {
  input: Input
  update: boolean
  report?: Report
  change: (fields: Partial<Input>) => void
  setUpdate: (update: boolean) => void
}

/** Options are the options of the write. */
export function Options({ input, update, report, change, setUpdate }: OptionsProps) {
  const start = (next: boolean) => {
    if (next && input.oldObject === "") change({ oldObject: input.object })
    setUpdate(next)
  }
  const { crd, minors = [] } = report ?? {}
  const subresources = [...new Set(crd?.versions.flatMap((version) => version.subresources) ?? [])]
  if (input.subresource !== "" && !subresources.includes(input.subresource)) subresources.push(input.subresource)
  const versions = crd?.versions.map((version) => version.name) ?? []
  if (input.version !== "" && !versions.includes(input.version)) versions.push(input.version)
  const listed = input.minor === 0 || minors.includes(input.minor) ? minors : [...minors, input.minor]
  return (
    <form class="options" aria-label="Options" onSubmit={(event) => event.preventDefault()}>
      <Choice label="Operation" value={update ? "update" : ""} choose={(value) => start(value === "update")}
        choices={[["", "Create"], ["update", "Update"]]} />
      {update && (
        <Choice label="Subresource" value={input.subresource} choose={(subresource) => change({ subresource })}
          choices={[["", "None"], ...subresources.map((name): [string, string] => [name, name])]} />
      )}
      <Choice label="Field validation" value={input.fieldValidation}
        choose={(fieldValidation) => change({ fieldValidation })}
        choices={[["", "Strict"], ["Warn", "Warn"], ["Ignore", "Ignore"]]} />
      {versions.length > 1 && (
        <Choice label="Version" value={input.version} choose={(version) => change({ version })}
          choices={[["", "of the object"], ...versions.map((name): [string, string] => [name, name])]} />
      )}
      <Choice label="Kubernetes version" value={String(input.minor)} choose={(minor) => change({ minor: Number(minor) })}
        choices={[["0", "Default"], ...[...listed].reverse().map((minor): [string, string] => [`${minor}`, `1.${minor}`])]}
        help={`The CRD can use the CEL functions and formats of this version. All other behaviour is that of 1.${minors.at(-1) ?? ""}.`} />
    </form>
  )
}

interface ChoiceProps {
  label: string
  value: string
  choices: [string, string][]
  choose: (value: string) => void
  /** help describes the choice. It is also visible unless the first value is chosen. */
  help?: string
}

function Choice({ label, value, choices, choose, help }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} title={help} onChange={(event) => choose(event.currentTarget.value)}>
        {choices.map(([id, title]) => <option key={id} value={id}>{title}</option>)}
      </select>
      {help && value !== choices[0]?.[0] && <span class="hint" aria-hidden="true">{help}</span>}
    </label>
  )
}
