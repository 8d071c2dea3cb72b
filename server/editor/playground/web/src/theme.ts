// This script runs before the page is drawn, so that the chosen theme does not flash.

const key = "crdeval-theme"

/** chosenTheme returns "light", "dark", or "" for the theme of the system. */
export function chosenTheme(): string {
  try {
    const theme = localStorage.getItem(key)
    return theme === "light" || theme === "dark" ? theme : ""
  } catch {
    return "" // Storage is blocked.
  }
}

/** chooseTheme applies and remembers a theme. */
export function chooseTheme(theme: string): void {
  document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem(key, theme)
  } catch {
    // Storage is blocked: the theme applies until the page is closed.
  }
}

document.documentElement.dataset.theme = chosenTheme()
