import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { test as base, expect, type Locator, type Page } from "@playwright/test"

export { expect }

/** test fails for errors of the page, violations of the Content-Security-Policy, and requests to other hosts. */
export const test = base.extend<{ guard: Guard; playground: Playground }>({
  guard: [
    async ({ page }, use) => {
      const guard = new Guard()
      await guard.watch(page)
      await use(guard)
      expect(guard.found, "errors, CSP violations and foreign requests of the page").toEqual([])
    },
    { auto: true },
  ],
  playground: async ({ page, guard }, use) => {
    void guard
    const playground = new Playground(page)
    await playground.open()
    await use(playground)
  },
})

/** Guard collects what a page must not do. */
export class Guard {
  found: string[] = []
  /** expected are parts of errors that a test causes on purpose. */
  expected: string[] = []

  async watch(page: Page): Promise<void> {
    const add = (text: string) => {
      if (!this.expected.some((part) => text.includes(part))) this.found.push(text)
    }
    await page.exposeFunction("reportViolation", (text: string) => add(`CSP: ${text}`))
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        const report = (window as unknown as { reportViolation: (text: string) => void }).reportViolation
        report(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`)
      })
    })
    page.on("pageerror", (error) => add(`error: ${error.message}`))
    page.on("console", (message) => {
      if (message.type() === "error") add(`console: ${message.text()}`)
    })
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url())
      if (protocol.startsWith("http") && host !== new URL(page.url()).host && page.url() !== "about:blank") {
        add(`foreign request: ${request.url()}`)
      }
    })
  }
}

/** Playground drives the page as a user does. */
export class Playground {
  constructor(readonly page: Page) {}

  async open(fragment = ""): Promise<void> {
    await this.page.goto(fragment === "" ? "./" : `./#${fragment}`)
    await this.ready()
  }

  /** ready waits for the first verdict. */
  async ready(): Promise<void> {
    await expect(this.verdict).not.toHaveText(/^Waiting/)
  }

  /** verdict is the verdict on what the editors hold now: a test that waits for it never sees an older one. */
  get verdict(): Locator {
    return this.page.locator("section[aria-label=Verdict][aria-busy=false]").getByRole("status")
  }

  get view(): Locator {
    return this.page.getByRole("tabpanel")
  }

  editor(name: "CRD" | "Object" | "Old object"): Locator {
    return this.page.getByRole("textbox", { name, exact: true })
  }

  /** type replaces the text of an editor. */
  async type(name: "CRD" | "Object" | "Old object", text: string): Promise<void> {
    await this.editor(name).focus()
    await this.paste(text)
  }

  /** paste replaces the text of the focused editor. */
  async paste(text: string): Promise<void> {
    await this.page.evaluate((value) => navigator.clipboard.writeText(value), text)
    await this.page.keyboard.press("ControlOrMeta+a")
    await this.page.keyboard.press(text === "" ? "Delete" : "ControlOrMeta+v")
  }

  async tab(name: string): Promise<void> {
    await this.page.getByRole("tab", { name }).click()
  }

  /** text returns what an editor holds. It selects all, because an editor draws only what is visible. */
  async text(name: "CRD" | "Object" | "Old object"): Promise<string> {
    await this.editor(name).focus()
    await this.page.keyboard.press("ControlOrMeta+a")
    await this.page.keyboard.press("ControlOrMeta+c")
    return this.page.evaluate(() => navigator.clipboard.readText())
  }

  /** screenshot keeps a picture in the folder SCREENSHOTS, if it is set. */
  async screenshot(name: string, fullPage = false): Promise<void> {
    const folder = process.env.SCREENSHOTS
    if (!folder) return
    mkdirSync(folder, { recursive: true })
    await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage })
  }
}
