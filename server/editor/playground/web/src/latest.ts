/** Latest runs one task at a time: a new task aborts the one before, whose result is dropped. */
export class Latest {
  private current?: AbortController
  private timer?: ReturnType<typeof setTimeout>

  /** schedule runs the task after a delay in milliseconds, unless another task is scheduled first. */
  schedule(delay: number, task: (signal: AbortSignal) => Promise<void>): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.run(task), delay)
  }

  /** cancel drops the scheduled task and aborts the running one. */
  cancel(): void {
    clearTimeout(this.timer)
    this.current?.abort()
  }

  private async run(task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.current?.abort()
    const controller = new AbortController()
    this.current = controller
    await task(controller.signal)
  }
}
