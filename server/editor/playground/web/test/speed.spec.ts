import { expect, test } from "./page"
import { keyToVerdict, report } from "./speed"

test("the verdict comes soon after a key press", async ({ playground }) => {
  const times = await keyToVerdict(playground, 40)
  report("server: key press to verdict", times)
  expect(Math.max(...times)).toBeLessThan(60_000) // a hang; the times themselves are reported, not asserted
})
