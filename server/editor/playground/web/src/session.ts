import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { Latest } from "./latest"
import type { Source } from "./source"
import type { Input, Report } from "./types"

/** Answer is a report with the input that it answers. */
export interface Answer {
  input: Input
  report: Report
  milliseconds: number
}

/** Session is the state of the evaluation of what the user types. */
export interface Session {
  answer?: Answer
  /** pending is true until there is an answer to the current input from the current source, or a failure. */
  pending: boolean
  /** busy is set if an evaluation takes longer than patience. */
  busy: boolean
  failure?: Error
  retry: () => void
}

/** The delays in milliseconds: from the last key press to the request, and from the request to "busy". */
const debounce = 20
const patience = 250

/** useSession evaluates an input each time it changes. Answers to older inputs are dropped. */
export function useSession(source: Source, input: Input | undefined): Session {
  const [answer, setAnswer] = useState<Answer>()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Error>()
  const [settled, setSettled] = useState<object>()
  const [attempt, setAttempt] = useState(0)
  const question = useMemo(() => ({}), [source, input, attempt])
  const latest = useRef(new Latest())
  useEffect(() => {
    if (!input) return
    latest.current.schedule(debounce, async (signal) => {
      const start = performance.now()
      const waiting = setTimeout(() => setBusy(true), patience)
      signal.addEventListener("abort", () => clearTimeout(waiting))
      try {
        const report = await source.evaluate(input, signal)
        if (signal.aborted) return
        setAnswer({ input, report, milliseconds: performance.now() - start })
        setFailure(undefined)
      } catch (error) {
        if (signal.aborted) return
        setFailure(error as Error)
      }
      clearTimeout(waiting)
      setBusy(false)
      setSettled(question)
    })
  }, [question])
  return { answer, pending: settled !== question, busy, failure, retry: () => setAttempt(attempt + 1) }
}
