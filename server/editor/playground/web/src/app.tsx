import { forEachDiagnostic } from "@codemirror/lint"
import { EditorView } from "@codemirror/view"
import type { ComponentChildren } from "preact"
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks"
import { Costs } from "./costs"
import { diagnosticsOf } from "./diagnostics"
import { Gallery, Shortcuts } from "./dialogs"
import { Editor } from "./editor"
import { Explain, Get } from "./kubectl"
import { type Actions, documentTitles, Problems } from "./problems"
import { useSession } from "./session"
import { decodeShared, encodeShared, type Shared } from "./share"
import { AccessError, type Source } from "./source"
import { Stored } from "./stored"
import { type Tab, Tabs } from "./tabs"
import { storedToken, storeToken, TokenForm } from "./token"
import { Options, Toolbar } from "./toolbar"
import { Traces } from "./traces"
import type { CursorInput, DocumentName, Example, Fix, Input } from "./types"
import { count as quantity, verdictOf } from "./verdict"

const empty: Input = { crd: "", object: "", oldObject: "", fieldValidation: "", subresource: "", version: "", minor: 0 }

/** App is the page. connect returns the evaluator for a bearer token, which is empty if there is none. */
export function App({ connect }: { connect: (token: string) => Source }) {
  const [token, setToken] = useState(storedToken)
  const source = useMemo(() => connect(token), [token])
  const [input, setInput] = useState<Input>()
  const [update, setUpdate] = useState(false)
  const [tab, setTab] = useState("problems")
  const [path, setPath] = useState("spec")
  const [notice, setNotice] = useState<{ text: string; bad: boolean }>()
  const [dialog, setDialog] = useState<"" | "gallery" | "shortcuts">("")
  // The event of a closed dialog can arrive after the next dialog opened.
  const closed = (name: typeof dialog) => setDialog((open) => (open === name ? "" : open))
  const [examples, setExamples] = useState<Example[]>([])
  const [examplesFailure, setExamplesFailure] = useState<string>()
  const views = useRef<Partial<Record<DocumentName, EditorView>>>({})

  // A creation has no old object and no subresource. Both come back when the user returns to an update.
  const sent = useMemo(
    () => input && (update ? input : { ...input, oldObject: "", subresource: "" }), [input, update],
  )
  const { answer, pending, busy, failure, retry } = useSession(source, sent)
  const report = answer?.report
  const denied = failure instanceof AccessError

  const useToken = (next: string) => {
    storeToken(next)
    setToken(next)
  }

  const change = (fields: Partial<Input>) => setInput((before) => ({ ...empty, ...before, ...fields }))
  const open = (shared: Pick<Shared, "input" | "update">) => {
    const lines = (text: string) => text.replace(/\r\n?/g, "\n") // as in CodeMirror, which counts one per line break
    const { crd, object, oldObject } = shared.input
    setInput({ ...shared.input, crd: lines(crd), object: lines(object), oldObject: lines(oldObject) })
    setUpdate(shared.update)
  }
  const openDocuments = ({ input }: Example) => open({ input: { ...empty, ...input }, update: Boolean(input.oldObject) })
  const openExample = (example: Example) => {
    openDocuments(example)
    setDialog("")
    setNotice({ text: `Example: ${example.title}. ${example.description}`, bad: false })
  }

  useEffect(() => {
    const start = async () => {
      const loading = source.examples()
      loading.then(setExamples, (error: Error) => setExamplesFailure(error.message))
      const linked = await openLink()
      if (linked === "opened") return
      const [first] = await loading.catch(() => [])
      if (!first) setInput(empty)
      else if (linked === "damaged") openDocuments(first) // The notice says what is wrong with the link.
      else openExample(first)
    }
    const openLink = async () => {
      const fragment = location.hash.slice(1)
      if (fragment === "") return "none"
      try {
        const shared = await decodeShared(fragment)
        open(shared)
        if (tabs.some(({ id }) => id === shared.tab)) setTab(shared.tab)
        setPath(shared.path)
        setNotice({ text: "Opened from a link.", bad: false })
        return "opened"
      } catch (error) {
        setNotice({ text: (error as Error).message, bad: true })
        return "damaged"
      }
    }
    const changed = () => void openLink()
    void start()
    addEventListener("hashchange", changed)
    return () => removeEventListener("hashchange", changed)
  }, [])

  const share = async () => {
    try {
      const fragment = await encodeShared({ input: input ?? empty, update, tab, path })
      history.replaceState(null, "", `#${fragment}`)
      try {
        await navigator.clipboard.writeText(location.href)
        setNotice({ text: `Link copied (${location.href.length.toLocaleString("en")} characters).`, bad: false })
      } catch {
        setNotice({ text: "The link is in the address bar. The browser did not allow the page to copy it.", bad: false })
      }
    } catch (error) {
      setNotice({ text: (error as Error).message, bad: true })
    }
  }

  const register = useCallback((id: string, view: EditorView | undefined) => {
    views.current[id as DocumentName] = view
  }, [])
  const evaluated = useRef(answer)
  evaluated.current = answer
  const actions = useMemo<Actions>(() => ({
    show: (document, { start }) => {
      const view = views.current[document]
      if (!view) return
      const at = Math.min(start.offset, view.state.doc.length)
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) })
      view.focus()
    },
    apply: (fix) => applyFix(fix, views.current, evaluated.current?.input),
  }), [])
  const diagnostics = useMemo(() => {
    const of = (document: DocumentName) =>
      answer ? diagnosticsOf(answer, document, actions.apply) : []
    return { crd: of("crd"), object: of("object"), oldObject: of("oldObject") }
  }, [answer])

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const control = event.ctrlKey || event.metaKey
      if (event.key === "F6") moveArea(event.shiftKey)
      else if ((control && event.key === ".") || (event.altKey && event.key === "Enter")) fixAtCursor(views.current)
      else if (event.altKey && event.shiftKey && event.code === "KeyS") void share()
      else if (event.altKey && event.shiftKey && event.code === "KeyE") setDialog("gallery")
      else if (event.key === "?" && !control && !inText()) setDialog("shortcuts")
      else return
      event.preventDefault()
      event.stopPropagation()
    }
    addEventListener("keydown", key, true)
    return () => removeEventListener("keydown", key, true)
  })

  const count = (number: number | undefined) => number || undefined
  const object = report?.object
  const problems = answer && answer.report.errors.length +
    (report?.crd?.violations.length ?? 0) + (object?.violations.length ?? 0)
  const tabs: Tab[] = [
    { id: "problems", title: "Problems", count: count(problems), bad: true },
    { id: "stored", title: "Stored object", count: count(object?.changes.length) },
    { id: "traces", title: "Rule traces", count: count(report?.traces.length) },
    { id: "costs", title: "Rule costs", count: count(report?.crd?.rules.length) },
    { id: "get", title: "kubectl get" },
    { id: "explain", title: "kubectl explain" },
  ]
  const verdict = failure ? { kind: "error" as const, title: "Not evaluated", detail: failure.message } : verdictOf(report)
  const documents: DocumentName[] = update ? ["crd", "oldObject", "object"] : ["crd", "object"]
  const plural = report?.crd?.name.split(".")[0] ?? ""

  return (
    <>
      <a class="skip" href="#results" onClick={(event) => { event.preventDefault(); focusTab() }}>Skip to the results</a>
      <Toolbar open={setDialog} share={() => void share()} forgetToken={token === "" ? undefined : () => useToken("")} />
      <main>
        <section class={`verdict ${verdict.kind}`} aria-label="Verdict" aria-busy={pending}>
          <p class="line">
            <span role="status" aria-live="polite" aria-atomic="true">
              <strong>{verdict.title}</strong> <span class="detail">{verdict.detail}</span>
            </span>
            {failure && <button type="button" class="fix" onClick={retry}>Try again</button>}
            <span class="timing" aria-hidden="true">
              {busy ? "Evaluating…" : answer && !failure ? `${answer.milliseconds.toFixed(0)} ms` : ""}
            </span>
          </p>
          <Options input={input ?? empty} update={update} report={report} change={change} setUpdate={setUpdate} />
        </section>
        {denied && <TokenForm token={token} rejected={token !== "" && !pending} use={useToken} leave={focusTab} />}
        {notice && (
          <div class={notice.bad ? "notice bad" : "notice"}>
            <p role={notice.bad ? "alert" : "status"}>{notice.text}</p>
            <button type="button" class="quiet" onClick={() => setNotice(undefined)}>Dismiss</button>
          </div>
        )}
        <div class={update ? "editors three" : "editors"}>
          {input && documents.map((document) => (
            <section key={document} class="pane" aria-labelledby={`title-${document}`}>
              <header>
                <h2 id={`title-${document}`}>{documentTitles[document]}</h2>
                <PaneState number={diagnostics[document].filter(({ severity }) => severity === "error").length}>
                  {document === "crd" && report?.crd?.accepted && report.crd.name}
                </PaneState>
              </header>
              <Editor
                id={document} label={documentTitles[document]} text={input[document]}
                diagnostics={diagnostics[document]} evaluated={answer?.input[document] ?? ""} register={register}
                assist={{
                  complete: (text, offset, signal) => source.complete(cursor(input, document, text, offset), signal),
                  hover: (text, offset) => source.hover(cursor(input, document, text, offset)),
                }}
                onChange={(text) => {
                  if (text === input[document]) return // The page has set it: an example or a link.
                  change({ [document]: text })
                  setNotice(undefined)
                }}
              />
            </section>
          ))}
        </div>
        <Tabs tabs={tabs} selected={tab} select={setTab}>
          {answer && tab === "problems" && <Problems answer={answer} actions={actions} />}
          {report && tab === "stored" && <Stored report={report} actions={actions} />}
          {report && tab === "traces" && <Traces report={report} actions={actions} />}
          {report && tab === "costs" && <Costs report={report} actions={actions} />}
          {report && tab === "get" && <Get report={report} />}
          {tab === "explain" && (
            <Explain
              source={source} crd={input?.crd ?? ""} version={input?.version ?? ""} minor={input?.minor ?? 0}
              plural={plural} path={path} setPath={setPath}
            />
          )}
        </Tabs>
      </main>
      {dialog === "gallery" && (
        <Gallery examples={examples} failure={examplesFailure} open={openExample} close={() => closed("gallery")} />
      )}
      {dialog === "shortcuts" && <Shortcuts close={() => closed("shortcuts")} />}
    </>
  )
}

/** PaneState is what the head of an editor says beside its title. */
function PaneState({ number, children }: { number: number; children: ComponentChildren }) {
  return number > 0 ? <span class="state bad">{quantity(number, "problem")}</span> : <span class="state">{children}</span>
}

/** cursor returns the question about an offset of a document with a text. An object needs the CRD. */
function cursor({ crd, minor }: Input, document: DocumentName, text: string, offset: number): CursorInput {
  return { crd, minor, document, offset, [document]: text }
}

/** applyFix edits the documents, unless they have changed since they were evaluated: then the positions are wrong. */
function applyFix(fix: Fix, views: Partial<Record<DocumentName, EditorView>>, input: Input | undefined): void {
  const documents = [...new Set(fix.edits.map((edit) => edit.document))]
  if (!input || documents.some((document) => views[document]?.state.doc.toString() !== input[document])) return
  for (const document of documents) {
    const edits = fix.edits.filter((edit) => edit.document === document)
    const changes = edits.map(({ start, end, text }) => ({ from: start.offset, to: end.offset, insert: text }))
    const view = views[document]!
    const at = changes[0]!.from
    view.dispatch({ changes, effects: EditorView.scrollIntoView(at), userEvent: "input.fix" })
    view.focus()
  }
}

/** fixAtCursor applies the first quick fix of the mark at the cursor, or else of the first mark in its line. */
function fixAtCursor(views: Partial<Record<DocumentName, EditorView>>): void {
  const view = Object.values(views).find((candidate) => candidate?.hasFocus)
  if (!view) return
  const { head } = view.state.selection.main
  const line = view.state.doc.lineAt(head)
  let atCursor: (() => void) | undefined
  let inLine: (() => void) | undefined
  forEachDiagnostic(view.state, ({ actions }, from, to) => {
    const action = actions?.[0]
    if (!action) return
    const run = () => action.apply(view, from, to)
    if (from <= head && head <= to) atCursor ??= run
    else if (from <= line.to && to >= line.from) inLine ??= run
  })
  const run = atCursor ?? inLine
  run?.()
}

/** moveArea moves the focus to the next or previous editor, or to the results. */
function moveArea(back: boolean): void {
  const areas = [...document.querySelectorAll<HTMLElement>(".editor, [role=tab][aria-selected=true]")]
  const current = areas.findIndex((area) =>
    area === document.activeElement || area.closest(".results")?.contains(document.activeElement))
  const step = back ? -1 : 1
  const next = current < 0 ? (back ? areas.length - 1 : 0) : (current + step + areas.length) % areas.length
  const area = areas[next]
  const target = area?.shadowRoot?.querySelector<HTMLElement>(".cm-content") ?? area
  target?.focus()
}

function focusTab(): void {
  document.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus()
}

/** inText reports whether the focus is in a field that takes text. */
function inText(): boolean {
  const active = document.activeElement
  return Boolean(active?.shadowRoot?.activeElement) || active?.matches("input:not([type=checkbox]), select, textarea") === true
}
