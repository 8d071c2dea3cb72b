import { useEffect, useRef, useState } from "preact/hooks"
import { Latest } from "./latest"
import type { Source } from "./source"
import type { ExplainInput, Explanation, Report } from "./types"

/** Get shows the object as kubectl get prints it. */
export function Get({ report }: { report: Report }) {
  const [wide, setWide] = useState(false)
  const { table, object, crd } = report
  if (!table) {
    return <p class="empty">{object ? "The write is rejected, so kubectl get has nothing to print." : "No object has been evaluated."}</p>
  }
  return (
    <div class="terminal">
      <label class="check">
        <input type="checkbox" checked={wide} onChange={(event) => setWide(event.currentTarget.checked)} /> Wide output
      </label>
      <pre tabIndex={0} role="region" aria-label="Output of kubectl get">
        <span class="prompt">$ kubectl get {crd?.name}{wide ? " -o wide" : ""}</span>{"\n"}{wide ? table.wideText : table.text}
      </pre>
    </div>
  )
}

interface ExplainProps {
  source: Source
  crd: string
  version: string
  minor: number
  plural: string
  path: string
  setPath: (path: string) => void
}

/** Explain shows what kubectl explain prints for a field of the CRD. */
export function Explain({ source, crd, version, minor, plural, path, setPath }: ExplainProps) {
  const [recursive, setRecursive] = useState(false)
  const [answer, setAnswer] = useState<Explanation>()
  const latest = useRef(new Latest())
  useEffect(() => {
    const input: ExplainInput = { crd, version, minor, path: path.trim(), recursive }
    latest.current.schedule(40, async (signal) => {
      try {
        const explanation = await source.explain(input, signal)
        if (!signal.aborted) setAnswer(explanation)
      } catch (error) {
        if (!signal.aborted) setAnswer({ error: { reason: "", message: (error as Error).message, fixes: [] } })
      }
    })
    return () => latest.current.cancel()
  }, [source, crd, version, minor, path, recursive])
  return (
    <div class="terminal">
      <div class="fields">
        <label>
          Field{" "}
          <input
            type="text" value={path} placeholder="spec" spellcheck={false} autocomplete="off"
            onInput={(event) => setPath(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox" checked={recursive} onChange={(event) => setRecursive(event.currentTarget.checked)}
          /> Recursive
        </label>
      </div>
      {answer?.error && <p class="item bad" role="status">{answer.error.message}</p>}
      {answer?.text && (
        <pre tabIndex={0} role="region" aria-label="Output of kubectl explain">
          <span class="prompt">
            $ kubectl explain {[plural, path.trim()].filter(Boolean).join(".")}{recursive ? " --recursive" : ""}
          </span>{"\n"}{answer.text}
        </pre>
      )}
    </div>
  )
}
