import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { crd, quantityCRD, widget } from "./documents"
import { expect, Playground, test } from "./page"
import { keyToVerdict, report } from "./speed"

// The static site: the same page, with the evaluator in WebAssembly and no server behind it.

test.beforeEach(async ({ page }, { config }) => {
  await page.addInitScript(() => {
    const look = () => {
      const text = document.querySelector(".verdict [role=status]")?.textContent ?? "Waiting"
      if (text.startsWith("Waiting")) requestAnimationFrame(look)
      else Object.assign(window, { firstVerdict: performance.now() })
    }
    look()
  })
  await page.goto(config.metadata.site)
})

test("the static site evaluates without a server", async ({ page, context }) => {
  const playground = new Playground(page)
  await playground.ready()
  const first = await page.evaluate(() => (window as unknown as { firstVerdict: number }).firstVerdict)
  const bytes = statSync(join(process.env.PLAYGROUND_SITE!, "crdeval.wasm.gz")).size
  console.log(`site: first verdict after ${first.toFixed(0)} ms, crdeval.wasm.gz ${(bytes / 1e6).toFixed(2)} MB`)
  await context.setOffline(true)
  report("site: key press to verdict", await keyToVerdict(playground, 20))
  await playground.type("Object", widget("size: 3", "colour: gren"))
  await expect(playground.verdict).toHaveText(/^Rejected/)
  await playground.view.getByRole("button", { name: /green/ }).first().click()
  await expect(playground.verdict).toHaveText(/^Accepted/)
  await playground.tab("Rule traces")
  await expect(playground.view.locator(".tree").first()).toContainText("self.size")
  await playground.tab("kubectl get")
  await expect(playground.view).toContainText(/first\s+green/)
  await playground.tab("kubectl explain")
  await expect(playground.view).toContainText("size")
  await playground.screenshot("site")
  await playground.type("CRD", quantityCRD)
  await expect(playground.verdict).toHaveText(/^Accepted/)
  await page.getByLabel("Kubernetes version").selectOption("1.27")
  await expect(playground.verdict).toHaveText(/^CRD rejected/)
})

test("the static site gives the server's answers", async ({ page }, { project }) => {
  const playground = new Playground(page)
  await playground.ready()
  await playground.type("CRD", crd)
  const objects = [widget("size: 3"), widget("size: 30", "colour: gren", "bad: 1"), "kind: [", widget("size: 7", "colour: red")]
  for (const object of objects) {
    await playground.type("Object", object)
    const input = { crd, object }
    const answer = await page.request.post(new URL("evaluate", project.use.baseURL).href, { data: input })
    const report = await answer.json()
    const here = await page.evaluate((body) => new Promise((resolve, reject) => {
      const worker = new Worker("worker.js")
      worker.onmessage = ({ data }) => data.body ? resolve(JSON.parse(data.body)) : reject(new Error(data.error))
      worker.postMessage({ id: 1, method: "evaluate", body: JSON.stringify(body) })
    }), input)
    expect(steady(here)).toEqual(steady(report))
  }
})

test("the static site needs no inline code and no other host", async ({ page }) => {
  const playground = new Playground(page)
  await playground.ready()
  const policy = await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content")
  expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval'")
  expect(policy).not.toMatch(/unsafe-inline|'unsafe-eval'|\*|data:|blob:|http/)
  const html = readFileSync(join(process.env.PLAYGROUND_SITE!, "index.html"), "utf8")
  expect(html).not.toMatch(/<script>|<style|style=/)
})

test("a missing evaluator is reported", async ({ page, guard }, { config }) => {
  guard.expected.push("Failed to load resource")
  await page.route("**/crdeval.wasm.gz", (route) => route.fulfill({ status: 404 }))
  await page.goto("about:blank")
  await page.goto(config.metadata.site)
  await expect(page.getByRole("region", { name: "Verdict" })).toContainText("crdeval.wasm.gz cannot be loaded: HTTP 404")
})

/** steady drops the times of a report. */
function steady(report: unknown): unknown {
  const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b\d+m?s\b/g
  return JSON.parse(JSON.stringify(report).replace(time, "…"))
}
