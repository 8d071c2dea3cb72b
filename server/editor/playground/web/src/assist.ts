import {
  autocompletion, type Completion, type CompletionContext, type CompletionResult, startCompletion,
} from "@codemirror/autocomplete"
import { type Extension, StateEffect, StateField } from "@codemirror/state"
import { EditorView, hoverTooltip, keymap, showTooltip, type Tooltip } from "@codemirror/view"
import type { CompletionItem, Completions, Detail, FieldInfo, Hover } from "./types"

/** Assist answers questions about an offset of a text, in UTF-16 code units. */
export interface Assist {
  complete(text: string, offset: number, signal?: AbortSignal): Promise<Completions>
  hover(text: string, offset: number): Promise<Hover>
}

/** assistance completes the text of an editor and describes its fields. assist returns who answers. */
export function assistance(assist: () => Assist): Extension {
  const complete = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const controller = new AbortController()
    context.addEventListener("abort", () => controller.abort(), { onDocChange: true })
    const { state, pos } = context
    const answer = await silent(assist().complete(state.doc.toString(), pos, controller.signal))
    return answer ? resultOf(answer, context) : null
  }
  /** field returns the tooltip for the field at an offset, unless the text has changed since. */
  const field = async (view: EditorView, offset: number): Promise<(Tooltip & { field: FieldInfo }) | null> => {
    const { doc } = view.state
    const answer = await silent(assist().hover(doc.toString(), offset))
    if (!answer?.field || view.state.doc !== doc) return null
    const { range: { start, end } } = answer.field
    return {
      field: answer.field, pos: start.offset, end: end.offset, above: true,
      create: () => ({ dom: fieldInfo(answer.field!) }),
    }
  }
  const describe = (view: EditorView): boolean => {
    void field(view, view.state.selection.main.head).then((tooltip) => {
      const text = tooltip ? textOf(tooltip.field) : "No field is known here."
      view.dispatch({ effects: [setDescribed.of(tooltip), EditorView.announce.of(text)] })
    })
    return true
  }
  const close = (view: EditorView): boolean => {
    if (!view.state.field(described)) return false
    view.dispatch({ effects: setDescribed.of(null) })
    return true
  }
  return [
    autocompletion({
      override: [complete], icons: false, optionClass: ({ type }) => (type === deprecated ? "cm-deprecated" : ""),
    }),
    hoverTooltip(field, { hideOnChange: true }),
    described,
    keymap.of([{ key: "F1", run: describe }, { key: "Escape", run: close }]),
    EditorView.domEventHandlers({ blur: (_event, view) => void setTimeout(() => close(view)) }),
  ]
}

/** silent returns undefined if a question fails: the verdict shows why the evaluator does not answer. */
async function silent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch {
    return undefined
  }
}

/** deprecated is the type of completions of deprecated fields. */
const deprecated = "deprecated"

/** described is the tooltip that the user has opened with a key. */
const setDescribed = StateEffect.define<Tooltip | null>()
const described = StateField.define<Tooltip | null>({
  create: () => null,
  update: (tooltip, { docChanged, selection, effects }) => {
    if (docChanged || selection) tooltip = null
    for (const effect of effects) if (effect.is(setDescribed)) tooltip = effect.value
    return tooltip
  },
  provide: (of) => showTooltip.from(of),
})

/** resultOf returns the completions as CodeMirror takes them. */
function resultOf({ range, items }: Completions, { state, pos, explicit }: CompletionContext): CompletionResult | null {
  if (!range) return null
  const from = range.start.offset
  const typed = state.sliceDoc(from, pos)
  if (!explicit) {
    // Enter must remain a new line after a whole value, and an indentation is not a question.
    const line = state.doc.lineAt(pos)
    if (items.some(({ text }) => text.trim() === typed) || state.sliceDoc(line.from, pos).trim() === "") return null
  }
  const tail = range.end.offset - pos // the rest of the word after the cursor
  const options = items.map((item, i) => optionOf(item, i, tail))
  const whole = new Set(items.map(({ text }) => text))
  return { from, options, validFor: (text) => /^["']?[\w./-]*$/.test(text) && !whole.has(text) }
}

function optionOf(item: CompletionItem, index: number, tail: number): Completion {
  const { label, detail, text, filter, description, details } = item
  return {
    label: filter, displayLabel: label === filter ? undefined : label, detail, sortText: String(index).padStart(5, "0"),
    type: item.deprecated ? deprecated : undefined,
    info: description || details ? () => documentation(description, details) : undefined,
    apply: (view, _completion, from, to) => {
      view.dispatch({
        changes: { from, to: Math.min(to + tail, view.state.doc.length), insert: text },
        selection: { anchor: from + text.length }, scrollIntoView: true, userEvent: "input.complete",
      })
      if (text.endsWith(" ")) startCompletion(view) // of the value
    },
  }
}

/** documentation shows a description and the facts about a field. */
function documentation(description = "", details: Detail[] = []): HTMLElement {
  return element("div", "cm-field", description && element("p", "", shorten(description)), ...listOf(details))
}

/** fieldInfo shows a field. */
function fieldInfo({ path, type, details, text }: FieldInfo): HTMLElement {
  const head = element("p", "", element("strong", "", path), " ", element("code", "", type))
  return element("div", "cm-field", head, ...listOf(details), text && element("pre", "", shorten(text)))
}

function listOf(details: Detail[]): HTMLElement[] {
  if (details.length === 0) return []
  return [element("ul", "", ...details.map((detail) => element("li", "", ...partsOf(detail))))]
}

function partsOf({ name, values = [], note }: Detail): (Node | string)[] {
  const parts: (Node | string)[] = [name]
  values.forEach((value, i) => parts.push(i === 0 ? ": " : ", ", element("code", "", value)))
  if (note) parts.push(` ${note}`)
  return parts
}

/** textOf returns a field as a screen reader reads it. */
function textOf({ path, type, details, text }: FieldInfo): string {
  const facts = details.map((detail) => element("span", "", ...partsOf(detail)).textContent)
  return [`${path}, ${type}`, ...facts, shorten(text)].filter(Boolean).join(". ")
}

/** shorten returns the begin of a text that fits into a tooltip, which does not scroll. kubectl explain shows all. */
function shorten(text: string): string {
  const [lines, length] = [20, 800]
  const short = [...text.split("\n", lines).join("\n")].slice(0, length).join("").trimEnd()
  return short === text.trimEnd() ? short : `${short}\n…`
}

/** element returns an element. Empty children are left out. */
function element(name: string, className: string, ...children: (Node | string)[]): HTMLElement {
  const created = document.createElement(name)
  if (className) created.className = className
  created.append(...children.filter((child) => child !== ""))
  return created
}
