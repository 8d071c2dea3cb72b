import { HighlightStyle } from "@codemirror/language"
import { EditorView } from "@codemirror/view"
import { tags } from "@lezer/highlight"

/**
 * look is the theme of all editors. Its colours are variables of style.css, so that a change of the page's theme needs
 * no change here. Marks replace CodeMirror's images, which are data: URLs that the Content-Security-Policy forbids.
 */
export const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "6px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 4px 0 10px", minWidth: "28px" },
  ".cm-foldGutter .cm-gutterElement": { color: "var(--muted)", width: "14px" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--raised)", borderColor: "var(--line)", color: "var(--muted)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--active-line)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLineGutter": { backgroundColor: "var(--active-line)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--match)" },
  ".cm-selectionMatch": { backgroundColor: "var(--match)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--match)" },
  ".cm-lintRange": { backgroundImage: "none", paddingBottom: "0" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--bad) 1.2px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--warn) 1.2px", textUnderlineOffset: "3px" },
  ".cm-lintRange-info": { textDecoration: "underline dotted var(--accent) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintPoint:after": { borderBottomColor: "var(--bad)" },
  ".cm-gutter-lint": { width: "12px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0 2px", display: "flex", alignItems: "center" },
  ".cm-lint-marker": { width: "8px", height: "8px", borderRadius: "50%", content: "none" },
  ".cm-lint-marker-error": { content: "none", backgroundColor: "var(--bad)" },
  ".cm-lint-marker-warning": { content: "none", backgroundColor: "var(--warn)" },
  ".cm-lint-marker-info": { content: "none", backgroundColor: "var(--accent)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line-strong)",
    borderRadius: "6px", boxShadow: "0 4px 16px var(--shadow)", maxWidth: "min(560px, 90vw)", overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete": { overflow: "visible" }, // the documentation is beside the list
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "15em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "2px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--selection)", color: "var(--text)",
  },
  ".cm-tooltip-autocomplete-disabled > ul > li[aria-selected]": { opacity: "0.6" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": { marginLeft: "12px", color: "inherit", fontStyle: "normal", fontFamily: "var(--sans)" },
  ".cm-deprecated .cm-completionLabel": { textDecoration: "line-through" },
  ".cm-tooltip.cm-completionInfo": { padding: "0" },
  ".cm-field": { padding: "6px 10px", fontFamily: "var(--sans)", overflowWrap: "anywhere" },
  ".cm-field p, .cm-field ul, .cm-field pre": { margin: "0", padding: "0" },
  ".cm-field > * + *": { marginTop: "4px !important" },
  ".cm-field li": { listStyle: "none", color: "var(--muted)" },
  ".cm-field code, .cm-field pre": { fontFamily: "var(--mono)", fontSize: "12px", color: "var(--text)" },
  ".cm-field pre": { whiteSpace: "pre-wrap" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)", borderLeftWidth: "3px", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--accent)" },
  ".cm-diagnosticText": { overflowWrap: "anywhere" },
  ".cm-diagnosticAction": {
    font: "600 12px var(--sans)", backgroundColor: "var(--accent-fill)", color: "var(--on-accent)",
    borderRadius: "4px", padding: "3px 8px", margin: "4px 6px 0 0", cursor: "pointer",
  },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panels.cm-panels-top": { borderBottomColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: "5px 28px 5px 8px", fontFamily: "var(--sans)" },
  ".cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label": {
    font: "12px var(--sans)", margin: "2px 6px 2px 0",
  },
  ".cm-textfield": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--line-strong)" },
  ".cm-button": {
    backgroundImage: "none", backgroundColor: "var(--surface)", color: "var(--text)",
    border: "1px solid var(--line-strong)", borderRadius: "4px",
  },
  ".cm-panel.cm-search [name=close]": { color: "var(--text)" },
  ".cm-changedLine": { backgroundColor: "var(--good-soft) !important" },
  ".cm-changedText, .cm-insertedLine": { backgroundImage: "none", background: "var(--good-mark) !important" },
  ".cm-insertedLine, .cm-insertedLine:not(:has(.cm-changedText))": { textDecoration: "none" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-soft)", paddingLeft: "6px" },
  ".cm-deletedChunk .cm-deletedText, .cm-deletedLine del": {
    backgroundImage: "none", background: "var(--bad-mark)", textDecoration: "none",
  },
  ".cm-deletedLine, .cm-deletedLine del": { textDecoration: "none" },
  ".cm-changeGutter": { width: "3px", paddingLeft: "1px" },
  ".cm-changedLineGutter": { background: "var(--good)" },
  ".cm-deletedLineGutter": { background: "var(--bad)" },
  ".cm-collapsedLines": {
    backgroundImage: "none", backgroundColor: "var(--raised)", color: "var(--muted)", fontFamily: "var(--sans)",
  },
})

/** colours maps the syntax of YAML to variables of style.css. */
export const colours = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: "var(--syntax-key)" },
  { tag: tags.propertyName, color: "var(--syntax-key)" },
  { tag: tags.string, color: "var(--syntax-string)" },
  { tag: tags.content, color: "var(--syntax-value)" },
  { tag: tags.attributeValue, color: "var(--syntax-value)" },
  { tag: tags.comment, color: "var(--syntax-comment)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.squareBracket, tags.brace], color: "var(--muted)" },
  { tag: [tags.meta, tags.typeName, tags.labelName, tags.keyword], color: "var(--syntax-meta)" },
])
