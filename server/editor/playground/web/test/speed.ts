import { expect, type Playground } from "./page"
import { crd, widget } from "./documents"

/**
 * keyToVerdict presses keys that change the verdict, and returns the times in milliseconds from the time stamp of each
 * key press to the first frame after the verdict has changed.
 */
export async function keyToVerdict(playground: Playground, presses: number): Promise<number[]> {
  const { page } = playground
  await playground.type("CRD", crd)
  await playground.type("Object", widget("size: 1").trimEnd())
  await expect(playground.verdict).toHaveText(/^Accepted/)
  await page.evaluate(() => {
    const times: number[] = []
    Object.assign(window, { times })
    let pressed = 0
    addEventListener("keydown", (event) => (pressed = event.timeStamp), true)
    const status = document.querySelector(".verdict [role=status]")!
    new MutationObserver(() => {
      const start = pressed
      pressed = 0
      if (start > 0) requestAnimationFrame(() => times.push(performance.now() - start))
    }).observe(status, { childList: true, subtree: true, characterData: true })
  })
  const read = () => page.evaluate(() => (window as unknown as { times: number[] }).times)
  for (let i = 0; i < presses; i++) {
    await page.keyboard.press(i % 2 === 0 ? "1" : "Backspace")
    await expect(playground.verdict).toHaveText(i % 2 === 0 ? /^Rejected/ : /^Accepted/)
    await expect.poll(async () => (await read()).length).toBe(i + 1)
  }
  return read()
}

/** report prints the median and the maximum of times. */
export function report(what: string, times: number[]): void {
  const sorted = [...times].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)]!
  console.log(`${what}: median ${median.toFixed(0)} ms, maximum ${sorted.at(-1)!.toFixed(0)} ms of ${times.length}`)
}
