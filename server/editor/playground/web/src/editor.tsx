import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { yaml } from "@codemirror/lang-yaml"
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentUnit, syntaxHighlighting } from "@codemirror/language"
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint"
import { unifiedMergeView } from "@codemirror/merge"
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search"
import { EditorState, type Extension } from "@codemirror/state"
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { type Assist, assistance } from "./assist"
import { colours, look } from "./look"

const common: Extension = [
  look, syntaxHighlighting(colours), yaml(), lineNumbers(), foldGutter(), codeFolding(), search({ top: true }),
]

/** mount creates an editor in a shadow root: there CodeMirror uses constructable style sheets, which a CSP allows. */
function mount(host: HTMLElement, state: EditorState): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" })
  const view = new EditorView({ state, parent: root, root })
  return view
}

interface EditorProps {
  id: string
  label: string
  text: string
  /** diagnostics are marks in the text evaluated. They are dropped if the editor has another text by now. */
  diagnostics: Diagnostic[]
  evaluated: string
  onChange: (text: string) => void
  /** assist completes the text and describes its fields. */
  assist: Assist
  /** register passes the view to the page, which moves the cursor and applies fixes. */
  register: (id: string, view: EditorView | undefined) => void
}

/**
 * Editor edits one document. Tab moves the focus on, as in a form. Its effects are layout effects: marks appear
 * together with the verdict.
 */
export function Editor({ id, label, text, diagnostics, evaluated, onChange, assist, register }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const known = useRef(text)
  const changed = useRef(onChange)
  changed.current = onChange
  const assistant = useRef(assist)
  assistant.current = assist

  useLayoutEffect(() => {
    const state = EditorState.create({
      doc: known.current,
      extensions: [
        common, history(), bracketMatching(), highlightActiveLine(), highlightActiveLineGutter(), lintGutter(),
        highlightSelectionMatches(), assistance(() => assistant.current), indentUnit.of("  "), EditorState.tabSize.of(2),
        keymap.of([...lintKeymap, ...searchKeymap, ...foldKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return
          known.current = update.state.doc.toString()
          changed.current(known.current)
        }),
      ],
    })
    view.current = mount(host.current!, state)
    register(id, view.current)
    return () => {
      register(id, undefined)
      view.current?.destroy()
    }
  }, [])

  useLayoutEffect(() => {
    if (text === known.current) return
    known.current = text
    view.current!.dispatch({ changes: { from: 0, to: view.current!.state.doc.length, insert: text } })
  }, [text])

  useLayoutEffect(() => {
    if (known.current !== evaluated) return
    view.current!.dispatch(setDiagnostics(view.current!.state, diagnostics))
  }, [diagnostics])

  return <div class="editor" ref={host} />
}

/** Diff shows what changed from one text to another. */
export function Diff({ label, before, after }: { label: string; before: string; after: string }) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const state = EditorState.create({
      doc: after,
      extensions: [
        common, keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }),
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 4, minSize: 12 } }),
      ],
    })
    const view = mount(host.current!, state)
    return () => view.destroy()
  }, [before, after])
  return <div class="diff" ref={host} />
}
