import { crd, widget } from "./documents"
import { expect, Playground, test } from "./page"

test("the gallery opens each example", async ({ playground, page }) => {
  const count = await page.evaluate(async () => (await (await fetch("examples")).json()).length)
  expect(count).toBeGreaterThanOrEqual(6)
  for (let i = 0; i < count; i++) {
    await page.getByRole("button", { name: "Examples" }).click()
    const entry = page.getByRole("dialog").getByRole("listitem").nth(i).getByRole("button")
    const title = await entry.locator("strong").innerText()
    if (i === 0) await playground.screenshot("gallery")
    await entry.click()
    await expect(page.getByRole("dialog")).toHaveCount(0)
    await expect(page.locator(".notice")).toContainText(title)
    await expect(playground.verdict).toHaveText(/accepted|rejected/i)
  }
})

test("a link holds everything", async ({ playground, page, context }) => {
  const object = widget("size: 7", "colour: red", "# ünïcödé 🙂")
  await playground.type("CRD", crd)
  await page.getByLabel("Operation").selectOption("update")
  await playground.type("Old object", widget("size: 1", "colour: red"))
  await playground.type("Object", object)
  await page.getByLabel("Field validation").selectOption("Warn")
  await page.getByLabel("Kubernetes version").selectOption("1.30")
  await playground.tab("kubectl explain")
  await page.getByLabel("Field", { exact: true }).fill("spec.tags")
  await page.getByRole("button", { name: "Copy link" }).click()
  await expect(page.locator(".notice")).toContainText("Link copied")
  const link = await page.evaluate(() => navigator.clipboard.readText())
  expect(link).toBe(page.url())

  const other = new Playground(await context.newPage())
  await other.page.goto(link)
  await other.ready()
  await expect(other.verdict).toHaveText(/^Update rejected/)
  await expect(other.page.getByLabel("Field", { exact: true })).toHaveValue("spec.tags")
  await expect(other.page.getByLabel("Field validation")).toHaveValue("Warn")
  await expect(other.page.getByLabel("Kubernetes version")).toHaveValue("30")
  expect(await other.text("CRD")).toBe(crd)
  expect(await other.text("Object")).toBe(object)
  expect(await other.text("Old object")).toBe(widget("size: 1", "colour: red"))
})

test("a damaged or huge link has a clear message", async ({ playground, page }) => {
  const bomb = await page.evaluate(async () => {
    const zeros = new Blob([new Uint8Array(64 * 1024 * 1024)])
    const packed = await new Response(zeros.stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer()
    let text = ""
    for (const byte of new Uint8Array(packed)) text += String.fromCharCode(byte)
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
  })
  const notJSON = await page.evaluate(async () => {
    const packed = await new Response(
      new Blob(["hello"]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer()
    return btoa(String.fromCharCode(...new Uint8Array(packed))).replace(/=+$/, "")
  })
  const cases: [string, RegExp][] = [
    ["9.abc", /damaged, or another version/],
    ["1.%%%", /part of it is missing or changed/],
    ["1.AAAA", /part of it is missing or changed/],
    [`1.${notJSON}`, /content is not JSON/],
    [`1.${bomb}`, /holds more than 2.0 MiB/],
    [`1.${"A".repeat(600 * 1024)}`, /maximum is 512 KiB/],
  ]
  for (const [fragment, message] of cases) {
    await page.goto("about:blank")
    await playground.open(fragment)
    await expect(page.getByRole("alert")).toHaveText(message)
    await expect(playground.verdict).toHaveText(/accepted|rejected/i) // an example is shown instead
  }
})

test("everything works with the keyboard", async ({ playground, page }) => {
  await page.keyboard.press("Tab")
  await expect(page.getByRole("link", { name: "Skip to the results" })).toBeFocused()
  await page.keyboard.press("Enter")
  await expect(page.getByRole("tab", { name: "Problems" })).toBeFocused()
  await page.keyboard.press("ArrowRight")
  await expect(page.getByRole("tab", { name: "Stored object" })).toBeFocused()
  await expect(page.getByRole("tab", { name: "Stored object" })).toHaveAttribute("aria-selected", "true")
  await page.keyboard.press("End")
  await expect(page.getByRole("tab", { name: "kubectl explain" })).toBeFocused()
  await page.keyboard.press("Home")

  await page.keyboard.press("F6")
  await expect(playground.editor("CRD")).toBeFocused()
  await playground.paste(crd)
  await page.keyboard.press("Tab") // leaves the editor
  await expect(playground.editor("Object")).toBeFocused()
  await page.keyboard.press("Shift+Tab")
  await expect(playground.editor("CRD")).toBeFocused()
  await page.keyboard.press("F6")
  await playground.paste(widget("size: 3", "colour: gren"))
  await expect(playground.verdict).toHaveText(/^Rejected/)
  await page.keyboard.press("ControlOrMeta+Home")
  await page.keyboard.press("F8")
  await page.keyboard.press("ControlOrMeta+.")
  await expect(playground.verdict).toHaveText(/^Accepted/)

  await page.keyboard.press("F6")
  await expect(page.getByRole("tab", { name: "Problems" })).toBeFocused()
  await page.keyboard.press("?")
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible()
  await playground.screenshot("shortcuts")
  await page.keyboard.press("Escape")
  await expect(page.getByRole("dialog")).toHaveCount(0)
  await page.keyboard.press("Alt+Shift+E")
  await expect(page.getByRole("dialog", { name: "Examples" })).toBeVisible()
  await page.keyboard.press("Tab")
  await page.keyboard.press("Enter")
  await expect(page.getByRole("dialog")).toHaveCount(0)
})

test("a dialog stays open if the previous one closes late", async ({ playground, page }) => {
  await playground.ready()
  await page.getByRole("button", { name: "Shortcuts" }).click()
  await page.evaluate(async () => {
    const previous = document.querySelector("dialog")!
    const closed = new Promise((resolve) => previous.addEventListener("close", resolve))
    previous.close() // its event follows the key
    dispatchEvent(new KeyboardEvent("keydown", { altKey: true, shiftKey: true, code: "KeyE" }))
    await closed
    await new Promise((resolve) => setTimeout(resolve, 100)) // the page renders
  })
  await expect(page.getByRole("dialog", { name: "Examples" })).toBeVisible()
})

test("the theme follows the system and the switch", async ({ playground, page }) => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await background()
  await page.emulateMedia({ colorScheme: "dark" })
  const dark = await background()
  expect(dark).not.toBe(light)
  await playground.screenshot("dark")
  await page.getByLabel("Theme").selectOption("light")
  expect(await background()).toBe(light)
  await page.reload()
  await playground.ready()
  expect(await background()).toBe(light)
  await page.emulateMedia({ colorScheme: "light" })
  await page.getByLabel("Theme").selectOption("dark")
  expect(await background()).toBe(dark)
})

test("the page fits 400 pixels, and moves nothing with reduced motion", async ({ playground, page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" })
  await page.setViewportSize({ width: 400, height: 800 })
  await page.getByLabel("Kubernetes version").selectOption("1.30")
  for (const tab of ["Problems", "Stored object", "Rule traces", "Rule costs", "kubectl get", "kubectl explain"]) {
    await playground.tab(tab)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(overflow, `horizontal overflow in ${tab}`).toBeLessThanOrEqual(0)
  }
  await playground.tab("Rule costs")
  const moving = await page.evaluate(() => document.getAnimations().length)
  expect(moving).toBe(0)
  await playground.screenshot("narrow", true)
})

test("the Content-Security-Policy has no exceptions", async ({ playground, page, guard }) => {
  void playground
  const response = await page.request.get("./")
  const policy = response.headers()["content-security-policy"] ?? ""
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|\*|data:|blob:|http/)
  // The guard of each test reports violations. This one shows that the policy applies.
  guard.expected.push("script-src", "Content Security Policy")
  const blocked = await page.evaluate(() => new Promise((resolve) => {
    addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true })
    const script = document.createElement("script")
    script.textContent = "window.broken = true"
    document.head.append(script)
  }))
  expect(blocked).toMatch(/script-src/)
  expect(await page.evaluate(() => "broken" in window)).toBe(false)
})
