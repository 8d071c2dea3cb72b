import { crd, widget } from "./documents"
import { expect, test } from "./page"

test("unreadable documents are reported with their place", async ({ playground, page }) => {
  await playground.type("CRD", crd)
  await playground.type("Object", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a\nspec: {}\n")
  await expect(playground.verdict).toHaveText(/^Not evaluated.*invalid YAML: /)
  await expect(playground.view.getByRole("button", { name: /^Object, line/ })).toBeVisible()
  await expect(page.locator(".editor .cm-lintRange-error, .editor .cm-lintPoint-error")).not.toHaveCount(0)
  await playground.type("CRD", "a: [")
  await expect(playground.view.getByRole("button", { name: /^CRD, line/ })).toBeVisible()
  await playground.type("CRD", "")
  await expect(playground.verdict).not.toHaveText(/accepted/i)
  await playground.type("CRD", "# comment\njust text")
  await expect(playground.verdict).toHaveText(/^(Not evaluated|CRD rejected)/)
  await expect(page.locator(".editor .cm-lintRange-error")).toHaveText("just text")
  await playground.type("CRD", crd)
  await playground.type("Object", `${widget("size: 1")}---\n${widget("size: 2")}`)
  await expect(playground.verdict).toHaveText(/^Partly evaluated.*2 documents/)
  await expect(page.locator(".editor .cm-lintRange-error")).toHaveText("apiVersion: example.com/v1")
  await playground.screenshot("second-document")
  await playground.view.getByRole("button", { name: "Object, line 9, column 1" }).click()
  await expect(playground.editor("Object")).toBeFocused()
  await playground.type("Object", "kind: Widget")
  await expect(playground.verdict).toHaveText(/^Not evaluated.*is not a version/)
  await expect(page.locator(".editor .cm-lintRange-error")).toHaveText("kind: Widget")
  await playground.type("CRD", crd)
  await playground.type("Object", "")
  await expect(playground.verdict).toHaveText(/^CRD accepted/)
})

test("a failed, busy or unreachable server is shown", async ({ playground, page, guard }) => {
  guard.expected.push("Failed to load resource")
  await playground.type("CRD", crd)
  await playground.type("Object", widget("size: 1"))
  await expect(playground.verdict).toHaveText(/^Accepted/)
  const answers: [number, string, RegExp][] = [
    [503, '{"code": 14, "message": "the server is draining"}', /The server is busy \(503\): the server is draining/],
    [429, "slow down", /The server is busy \(429\): slow down/],
    [413, "at most 3 MiB", /too large for the server: at most 3 MiB/],
    [403, '{"message": "no role"}', /denies access \(403\): no role/],
    [500, "", /The server failed \(500\)/],
    [200, "<html>", /response of the server is not JSON/],
  ]
  let i = 2
  for (const [status, body, message] of answers) {
    await page.route("**/evaluate", (route) => route.fulfill({ status, body }))
    await playground.type("Object", widget(`size: ${i++}`))
    await expect(playground.verdict).toHaveText(message)
    await page.unroute("**/evaluate")
  }
  await page.route("**/evaluate", (route) => route.abort())
  await playground.type("Object", widget("size: 1"))
  await expect(playground.verdict).toHaveText(/The server cannot be reached/)
  await playground.screenshot("unreachable")
  await page.unroute("**/evaluate")
  await page.getByRole("button", { name: "Try again" }).click()
  await expect(playground.verdict).toHaveText(/^Accepted/)
})

test("a late answer to older text is dropped", async ({ playground, page }) => {
  await playground.type("CRD", crd)
  await playground.type("Object", widget("size: 1"))
  await expect(playground.verdict).toHaveText(/^Accepted/)
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  let requests = 0
  await page.route("**/evaluate", async (route) => {
    requests++
    if (route.request().postData()?.includes("size: 20")) {
      await held
      await route.fulfill({ status: 200, json: { traces: [], errors: [{ reason: "LATE", message: "late", fixes: [] }] } }).catch(() => {})
    } else {
      await route.continue()
    }
  })
  await playground.type("Object", widget("size: 20"))
  await expect(page.locator(".timing")).toHaveText("Evaluating…")
  await playground.type("Object", widget("size: 2"))
  await expect(page.locator(".timing")).toHaveText(/ms$/)
  await expect(playground.verdict).toHaveText(/^Accepted/)
  release()
  await playground.type("Object", widget("size: 11"))
  await expect(playground.verdict).toHaveText(/^Rejected/)
  await expect(playground.verdict).not.toHaveText(/late/)
  expect(requests).toBe(3)
})

test("fast typing sends fewer requests than keys", async ({ playground, page }) => {
  await playground.type("CRD", crd)
  await playground.type("Object", widget("size: 1"))
  await expect(playground.verdict).toHaveText(/^Accepted/)
  const bodies: string[] = []
  page.on("request", (request) => {
    if (request.url().endsWith("/evaluate")) bodies.push(request.postDataJSON().object)
  })
  await playground.editor("Object").focus()
  await page.keyboard.press("ControlOrMeta+End")
  // One task of the page presses all keys, so that nothing of the machine's speed matters.
  await page.evaluate(() => {
    const content = document.querySelectorAll(".editor")[1]!.shadowRoot!.querySelector(".cm-content")!
    const transfer = (text: string) => {
      const data = new DataTransfer()
      data.setData("text/plain", text)
      return data
    }
    for (const text of "  tags: [a, b]") {
      content.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer(text), bubbles: true }))
    }
  })
  await expect.poll(() => bodies.length).toBe(1)
  expect(bodies[0]).toBe(widget("size: 1") + "  tags: [a, b]")
  await expect(playground.verdict).toHaveText(/^Accepted/)
})
