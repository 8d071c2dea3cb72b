import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import type { Example } from "./types"

interface DialogProps {
  title: string
  close: () => void
  children: ComponentChildren
}

/** Dialog is a modal dialog. Escape, the close button and a click beside it close it. */
export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog
      ref={element} aria-labelledby="dialog-title" onClose={close}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <div class="dialog">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="quiet" onClick={() => element.current?.close()}>Close</button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

interface GalleryProps {
  examples: Example[]
  failure?: string
  open: (example: Example) => void
  close: () => void
}

/** Gallery lists the examples. */
export function Gallery({ examples, failure, open, close }: GalleryProps) {
  return (
    <Dialog title="Examples" close={close}>
      {failure && <p class="item bad">{failure}</p>}
      <ul class="gallery">
        {examples.map((example) => (
          <li>
            <button type="button" onClick={() => open(example)}>
              <strong>{example.title}</strong>
              <span>{example.description}</span>
            </button>
          </li>
        ))}
      </ul>
      <p class="note">An example replaces all documents. To restore a document, use Undo in its editor.</p>
    </Dialog>
  )
}

const shortcuts: [string, string][] = [
  ["F6, Shift+F6", "Next or previous area: the editors, then the results"],
  ["F8, Shift+F8", "Next or previous problem in an editor"],
  ["Ctrl+. or Alt+Enter", "Apply the first quick fix at the cursor"],
  ["Ctrl+Space", "Complete the field or the value at the cursor"],
  ["F1", "Describe the field at the cursor"],
  ["Tab, Shift+Tab", "Leave an editor"],
  ["Ctrl+] and Ctrl+[", "Indent more or less"],
  ["Ctrl+F", "Search in an editor"],
  ["Ctrl+Z, Ctrl+Y", "Undo and redo, also of quick fixes and examples"],
  ["Arrow keys", "Select another view, if a tab of the results has the focus"],
  ["Alt+Shift+S", "Copy a link"],
  ["Alt+Shift+E", "Open the examples"],
  ["?", "Open this list (outside of text fields)"],
]

/** Shortcuts lists the keys. */
export function Shortcuts({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <table class="shortcuts">
        <thead><tr><th scope="col">Keys</th><th scope="col">Action</th></tr></thead>
        <tbody>
          {shortcuts.map(([keys, action]) => <tr><th scope="row"><kbd>{keys}</kbd></th><td>{action}</td></tr>)}
        </tbody>
      </table>
      <p class="note">On macOS, use Cmd instead of Ctrl.</p>
    </Dialog>
  )
}
