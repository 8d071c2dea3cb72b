import AxeBuilder from "@axe-core/playwright"
import { costlyCRD, crd, widget } from "./documents"
import { expect, type Playground, test } from "./page"

const tabs = ["Problems", "Stored object", "Rule traces", "Rule costs", "kubectl get", "kubectl explain"]

for (const theme of ["light", "dark"] as const) {
  test(`axe-core finds nothing in the ${theme} theme`, async ({ playground, page }) => {
    test.setTimeout(120_000)
    await page.emulateMedia({ colorScheme: theme })
    // The legacy mode opens no page of its own for each analysis. It does not look into frames, and there are none.
    const check = async (view: string, part = "html") => {
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().include(part).analyze()
      const found = violations.map(({ id, nodes }) => `${view}: ${id}: ${nodes.map((node) => node.target).join(" ")}`)
      expect.soft(found).toEqual([])
    }
    await playground.type("CRD", crd)
    await page.getByLabel("Operation").selectOption("update")
    await playground.type("Old object", widget("size: 15", "colour: blue"))
    await playground.type("Object", widget("size: 17", "colour: gren", "bad: 1"))
    await expect(playground.verdict).toHaveText(/^Update rejected/)
    await check("page")
    await views(playground, (tab) => check(`rejected, ${tab}`, ".results"))
    // The rest of the page does not change, so only the results are checked in further states.
    await playground.type("Object", widget("size: 15", "colour: blue"))
    await expect(playground.verdict).toHaveText(/^Update accepted/)
    await views(playground, (tab) => check(`accepted, ${tab}`, ".results"))
    await playground.type("Object", "kind: [")
    await expect(playground.verdict).toHaveText(/invalid YAML/)
    await check("unreadable")
    await page.getByLabel("Field validation").selectOption("Ignore")
    await playground.type("Object", widget("size: 15", "colour: blue", "bad: 1"))
    await expect(playground.verdict).toHaveText(/1 field pruned/)
    await views(playground, (tab) => check(`pruned, ${tab}`, ".results"))
    await playground.type("CRD", costlyCRD)
    await expect(playground.verdict).toHaveText(/^CRD rejected/)
    await views(playground, (tab) => check(`costs, ${tab}`, ".results"))
    await page.getByRole("button", { name: "Examples" }).click()
    await check("gallery")
    await playground.screenshot(`gallery-${theme}`)
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "Shortcuts" }).click()
    await check("shortcuts")
    await page.keyboard.press("Escape")
    await playground.editor("CRD").focus()
    await page.keyboard.press("ControlOrMeta+f")
    await check("search")
    await playground.screenshot(`search-${theme}`)
    await page.keyboard.press("Escape")
    await page.locator(".editor .cm-lintRange-error").first().hover()
    await expect(page.locator(".cm-tooltip-lint")).toBeVisible()
    await check("tooltip")
    await playground.type("CRD", crd)
    await playground.type("Object", widget("size: 3", "colo").trimEnd())
    await page.keyboard.press("ControlOrMeta+Space")
    await expect(page.locator(".cm-completionInfo")).toBeVisible()
    await check("completions")
    await playground.screenshot(`completions-${theme}`)
    await page.keyboard.press("Escape")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("F1")
    await expect(page.locator(".cm-field")).toBeVisible()
    await check("description")
    await playground.screenshot(`description-${theme}`)
    await page.setViewportSize({ width: 400, height: 800 })
    await check("narrow")
  })

  test(`pictures of the ${theme} theme`, async ({ playground, page }) => {
    await page.emulateMedia({ colorScheme: theme })
    await playground.type("CRD", crd)
    await page.getByLabel("Operation").selectOption("update")
    await playground.type("Old object", widget("size: 15", "colour: blue"))
    await playground.type("Object", widget("size: 15", "colour: gren"))
    await expect(playground.verdict).toHaveText(/^Update rejected/)
    await views(playground, (tab) => playground.screenshot(`${theme}-${tab.toLowerCase().replaceAll(" ", "-")}`))
  })
}

/** views opens each view in turn. */
async function views(playground: Playground, visit: (tab: string) => Promise<void>): Promise<void> {
  for (const tab of tabs) {
    await playground.tab(tab)
    await visit(tab)
  }
  await playground.tab("Problems")
}
