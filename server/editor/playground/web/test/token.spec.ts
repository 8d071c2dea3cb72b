import AxeBuilder from "@axe-core/playwright"
import type { Page } from "@playwright/test"
import { crd, widget } from "./documents"
import { expect, Playground, test } from "./page"

// The token in .ci/playground. The key ? is also a shortcut.
const token = "right?token"

test.beforeEach(async ({ page, guard }, { config }) => {
  guard.expected.push("Failed to load resource") // the rejected calls
  await page.goto(config.metadata.service)
  await new Playground(page).ready()
})

test("a server that requires a token asks for it, and forgets it on request", async ({ page }) => {
  const playground = new Playground(page)
  const field = page.getByLabel("Bearer token", { exact: true })
  const forget = page.getByRole("button", { name: "Forget token" })
  await expect(playground.verdict).toHaveText(/^Not evaluated The server requires a bearer token \(401\)/)
  await expect(field).toHaveAttribute("type", "password")
  await expect(forget).toHaveCount(0)
  await playground.screenshot("token")
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id }) => id)).toEqual([])

  const requests = authorizations(page)
  for (const invalid of ["", "Bearer right?token", "tökén"]) {
    await field.fill(invalid)
    await page.keyboard.press("Enter")
    await expect(page.getByRole("alert")).toHaveText(/Enter the token only/)
  }
  expect(requests).toEqual([])

  await field.fill("wrong")
  await page.keyboard.press("Enter")
  await expect(page.getByRole("alert")).toHaveText(/rejected this token/)
  await expect(playground.verdict).toHaveText(/The server rejected the bearer token \(401\): .*unknown/)
  await playground.screenshot("token-rejected")
  await forget.click()
  await expect(playground.verdict).toHaveText(/requires a bearer token/)
  await expect(page.getByRole("alert")).toHaveCount(0)
  await expect(field).toHaveValue("")

  await field.pressSequentially(token)
  await expect(page.getByRole("dialog")).toHaveCount(0)
  await page.keyboard.press("Enter")
  await expect(playground.verdict).toHaveText(/^(Update )?(Accepted|Rejected)/)
  await expect(page.getByRole("tab", { selected: true })).toBeFocused() // The field is gone.
  await playground.tab("kubectl explain")
  await expect(page.getByRole("region", { name: "Output of kubectl explain" })).toBeVisible()
  expect(new Set(requests)).toEqual(new Set(["Bearer wrong", undefined, `Bearer ${token}`]))

  await page.reload()
  await playground.ready()
  await expect(playground.verdict).toHaveText(/^(Update )?(Accepted|Rejected)/)
  await forget.click()
  await expect(playground.verdict).toHaveText(/requires a bearer token/)
  await page.reload()
  await playground.ready()
  await expect(playground.verdict).toHaveText(/requires a bearer token/)
})

test("a token is in no link, no address and no lasting storage", async ({ page, context }) => {
  const playground = new Playground(page)
  const urls: string[] = []
  page.on("request", (request) => urls.push(request.url()))
  await page.getByLabel("Bearer token", { exact: true }).fill(token)
  await page.keyboard.press("Enter")
  await playground.type("CRD", crd)
  await playground.type("Object", widget("size: 1"))
  await expect(playground.verdict).toHaveText(/^Accepted/)
  await page.getByRole("button", { name: "Copy link" }).click()
  await expect(page.locator(".notice")).toContainText("Link copied")
  const held = await page.evaluate(async () => {
    const packed = Uint8Array.from(atob(location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0))
    const link = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text()
    const { cookie, documentElement } = document
    return { link, rest: [location.href, JSON.stringify(localStorage), cookie, documentElement.outerHTML].join() }
  })
  expect(held.link).toContain("Widget")
  for (const text of [held.link, held.rest, ...urls]) expect(text).not.toContain(token)

  // Another tab has no token, and a link cannot set one.
  const link = await page.evaluate(async () => {
    const shared = JSON.stringify({ input: { crd: "", token: "evil" }, token: "evil", "crdeval-token": "evil" })
    const packed = await new Response(new Blob([shared]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer()
    return `${location.href.split("#")[0]}#1.${btoa(String.fromCharCode(...new Uint8Array(packed))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`
  })
  const other = new Playground(await context.newPage())
  const requests = authorizations(other.page)
  await other.page.goto(link)
  await other.ready()
  await expect(other.verdict).toHaveText(/requires a bearer token/)
  expect(new Set(requests)).toEqual(new Set([undefined]))
  expect(await other.page.evaluate(() => sessionStorage.length)).toBe(0)
})

/** authorizations collects the header Authorization of each evaluation. */
function authorizations(page: Page): (string | undefined)[] {
  const found: (string | undefined)[] = []
  page.on("request", (request) => {
    if (request.url().endsWith("/evaluate")) found.push(request.headers().authorization)
  })
  return found
}
