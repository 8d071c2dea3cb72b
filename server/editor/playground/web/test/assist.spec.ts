import type { Page } from "@playwright/test"
import { crd, widget } from "./documents"
import { expect, Playground, test } from "./page"

// Completion and hover, which the page with a server and the static site both have.

const listOf = (page: Page) => page.getByRole("listbox", { name: "Completions" })
const optionsOf = (page: Page) => listOf(page).getByRole("option")

/** accept accepts a completion. CodeMirror ignores the key during the first 75 ms of a list. */
async function accept(page: Page): Promise<void> {
  await page.waitForTimeout(100)
  await page.keyboard.press("Enter")
}

for (const mode of ["server", "site"] as const) {
  test.describe(`with the ${mode}`, () => {
    test.beforeEach(async ({ page }, { config, project }) => {
      await page.goto(mode === "site" ? config.metadata.site : project.use.baseURL)
      const playground = new Playground(page)
      await playground.ready()
      await playground.type("CRD", crd)
      await playground.type("Object", `# ünïcödé 🙂\n${widget("size: 3")}`.trimEnd())
      await expect(playground.verdict).toHaveText(/^Accepted/)
      await page.keyboard.press("ControlOrMeta+End")
    })

    test("fields and values of the object are completed", async ({ page }) => {
      const playground = new Playground(page)
      await page.keyboard.press("Enter")
      await page.keyboard.type("c")
      await expect(optionsOf(page)).toHaveText([/^colourstring/])
      await expect(page.locator(".cm-completionInfo")).toContainText("The colour of the widget.")
      await expect(page.locator(".cm-completionInfo")).toContainText('Default: "green"')
      await playground.screenshot(`completion-${mode}`)
      await accept(page)
      await expect(optionsOf(page)).toHaveText([/red/, /green/, /blue/]) // of the new field
      await page.keyboard.type("bl")
      await expect(optionsOf(page)).toHaveText([/blue/])
      await accept(page)
      await expect(listOf(page)).toHaveCount(0)
      expect(await playground.text("Object")).toBe(`# ünïcödé 🙂\n${widget("size: 3", "colour: blue")}`.trimEnd())
      await expect(playground.verdict).toHaveText(/^Accepted/)
    })

    test("a completion replaces the word at the cursor", async ({ page }) => {
      const playground = new Playground(page)
      await playground.type("Object", widget("size: 3", "colour: green").trimEnd())
      for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowLeft")
      await page.keyboard.press("ControlOrMeta+Space")
      await expect(optionsOf(page)).toHaveText([/green/])
      await page.keyboard.press("Escape")
      await page.keyboard.press("ArrowLeft")
      await page.keyboard.press("ArrowLeft")
      await page.keyboard.press("ControlOrMeta+Space")
      await expect(optionsOf(page)).toHaveCount(3)
      await optionsOf(page).filter({ hasText: "blue" }).click()
      expect(await playground.text("Object")).toBe(widget("size: 3", "colour: blue").trimEnd())
    })

    test("fields of the CRD are completed", async ({ page }) => {
      const playground = new Playground(page)
      const before = crd.slice(0, crd.indexOf("                description: The size"))
      await playground.type("CRD", `${before}                mini`)
      await page.keyboard.press("ControlOrMeta+Space")
      await expect(optionsOf(page).first()).toHaveText(/^minimum/)
      await accept(page)
      await page.keyboard.type("1")
      expect(await playground.text("CRD")).toBe(`${before}                minimum: 1`)
    })

    test("a field is described at the pointer and at the cursor", async ({ page }) => {
      const playground = new Playground(page)
      const line = page.locator(".editor").last().locator(".cm-line").filter({ hasText: "size: 3" })
      await line.getByText("size").hover()
      const tooltip = page.locator(".cm-field")
      await expect(tooltip.locator("strong")).toHaveText("spec.size")
      await expect(tooltip).toContainText("Maximum: 10")
      await expect(tooltip.locator("pre")).toContainText("The size of the widget in metres.")
      await playground.screenshot(`hover-${mode}`)
      await page.mouse.move(0, 0)
      await expect(tooltip).toHaveCount(0)
      await page.keyboard.press("F1")
      await expect(tooltip.locator("strong")).toHaveText("spec.size")
      await expect(page.locator(".cm-announced").last()).toContainText("spec.size, integer. Required. Maximum: 10")
      await page.keyboard.press("Escape")
      await expect(tooltip).toHaveCount(0)
      await page.keyboard.press("F1")
      await expect(tooltip).toHaveCount(1)
      await page.keyboard.press("Tab") // leaves the editor
      await expect(page.getByRole("tab", { name: "Problems" })).toBeFocused()
      await expect(tooltip).toHaveCount(0)
      await page.locator(".editor").first().locator(".cm-line").filter({ hasText: "scope: Namespaced" }).getByText("scope").hover()
      await expect(tooltip).toContainText("Whether the objects belong to namespaces.")
    })
  })
}

test("completions appear only if they help", async ({ playground, page }) => {
  await playground.type("CRD", crd)
  await playground.type("Object", widget("size: 3").trimEnd())
  await expect(playground.verdict).toHaveText(/^Accepted/)
  const asked: string[] = []
  page.on("response", (response) => {
    if (response.url().endsWith("complete")) asked.push(response.url())
  })
  const answered = () => expect.poll(() => asked.length).toBeGreaterThan(0)
  const list = listOf(page)
  await page.keyboard.press("Enter")
  await page.keyboard.type("colour: red") // a whole value
  await answered()
  await expect(list).toHaveCount(0)
  await page.keyboard.press("Enter")
  await page.keyboard.press("Backspace")
  asked.length = 0
  await page.keyboard.type("  ") // an indentation
  await answered()
  await expect(list).toHaveCount(0)
  await page.keyboard.press("ControlOrMeta+Space")
  await expect(list).toBeVisible()
  await page.keyboard.press("Tab") // leaves the editor
  await expect(page.getByRole("tab", { name: "Problems" })).toBeFocused()
  await expect(list).toHaveCount(0)
})

test("completions of an unreadable CRD do not disturb", async ({ playground, page }) => {
  await playground.type("CRD", "kind: [")
  await playground.type("Object", "kind: Widget\ns")
  await page.keyboard.press("ControlOrMeta+Space")
  await page.keyboard.press("F1")
  await expect(page.locator(".cm-announced").last()).toHaveText("No field is known here.")
  await expect(listOf(page)).toHaveCount(0)
})
