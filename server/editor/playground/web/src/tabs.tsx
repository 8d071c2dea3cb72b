import type { ComponentChildren } from "preact"

/** Tab is a view of the results. */
export interface Tab {
  id: string
  title: string
  count?: number
  bad?: boolean
}

interface TabsProps {
  tabs: Tab[]
  selected: string
  select: (id: string) => void
  children: ComponentChildren
}

/** Tabs shows one view of the results. Arrow keys, Home and End move between the tabs. */
export function Tabs({ tabs, selected, select, children }: TabsProps) {
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ id }) => id === selected)
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
    if (next === undefined) return
    event.preventDefault()
    const { id } = tabs[(next + tabs.length) % tabs.length]!
    select(id)
    document.getElementById(`tab-${id}`)?.focus()
  }
  return (
    <section class="results" id="results" aria-label="Results">
      <div class="tabs" role="tablist" aria-label="Views of the results" onKeyDown={move}>
        {tabs.map(({ id, title, count, bad }) => (
          <button
            key={id} type="button" role="tab" id={`tab-${id}`} aria-controls="view" aria-selected={id === selected}
            tabIndex={id === selected ? 0 : -1} onClick={() => select(id)}
          >
            {title} {count !== undefined && <span class={bad ? "count bad" : "count"}>{count}</span>}
          </button>
        ))}
      </div>
      <div class="view" id="view" role="tabpanel" aria-labelledby={`tab-${selected}`} tabIndex={0}>{children}</div>
    </section>
  )
}
