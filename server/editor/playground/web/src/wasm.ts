import type { Source } from "./source"
import type { Completions, CursorInput, Example, ExplainInput, Explanation, Hover, Input, Report } from "./types"

/** Call is a message to the worker. Method is a function of the WebAssembly module. */
export interface Call {
  id: number
  method: "evaluate" | "explain" | "complete" | "hover" | "examples"
  body: string
}

/** Answer is a message of the worker. */
export interface Answer {
  id: number
  body?: string
  error?: string
  /** fatal is set if the worker cannot answer any more calls. */
  fatal?: boolean
}

interface Waiting {
  call: Call
  signal?: AbortSignal
  resolve: (body: string) => void
  reject: (error: unknown) => void
}

const timeout = 30_000

/**
 * WasmSource evaluates in a Web Worker, without a server. The worker gets one call at a time, so that aborted calls
 * that still wait cost nothing. A worker that does not answer in time is replaced.
 */
export class WasmSource implements Source {
  private worker?: Worker
  private queue: Waiting[] = []
  private running?: Waiting
  private timer?: ReturnType<typeof setTimeout>
  private next = 1

  evaluate(input: Input, signal: AbortSignal): Promise<Report> {
    return this.call("evaluate", input, signal)
  }

  explain(input: ExplainInput, signal: AbortSignal): Promise<Explanation> {
    return this.call("explain", input, signal)
  }

  complete(input: CursorInput, signal?: AbortSignal): Promise<Completions> {
    return this.call("complete", input, signal)
  }

  hover(input: CursorInput): Promise<Hover> {
    return this.call("hover", input)
  }

  examples(): Promise<Example[]> {
    return this.call("examples", {})
  }

  private async call<T>(method: Call["method"], body: unknown, signal?: AbortSignal): Promise<T> {
    const text = await new Promise<string>((resolve, reject) => {
      const call = { id: this.next++, method, body: JSON.stringify(body) }
      this.queue.push({ call, signal, resolve, reject })
      this.advance()
    })
    return JSON.parse(text) as T
  }

  /** advance sends the next call that is not aborted, if the worker is idle. */
  private advance(): void {
    while (!this.running) {
      const waiting = this.queue.shift()
      if (!waiting) return
      if (waiting.signal?.aborted) {
        waiting.reject(waiting.signal.reason)
        continue
      }
      this.running = waiting
      const late = `The evaluator did not respond within ${timeout / 1000} s and was stopped.`
      this.timer = setTimeout(() => this.fail(late), timeout)
      this.start().postMessage(waiting.call)
    }
  }

  private start(): Worker {
    if (!this.worker) {
      this.worker = new Worker("worker.js")
      this.worker.onmessage = (event: MessageEvent<Answer>) => this.answered(event.data)
      this.worker.onerror = ({ message }) => this.fail(`The evaluator has stopped: ${message || "worker.js not found"}`)
    }
    return this.worker
  }

  private answered(answer: Answer): void {
    const waiting = this.running
    if (waiting?.call.id !== answer.id) return
    if (answer.fatal) return this.fail(answer.error ?? "The evaluator has failed.")
    clearTimeout(this.timer)
    this.running = undefined
    if (waiting.signal?.aborted) waiting.reject(waiting.signal.reason)
    else if (answer.body !== undefined) waiting.resolve(answer.body)
    else waiting.reject(new Error(answer.error ?? "The evaluator has failed."))
    this.advance()
  }

  /** fail ends the worker. The next call starts a new one. */
  private fail(message: string): void {
    clearTimeout(this.timer)
    this.worker?.terminate()
    this.worker = undefined
    const waiting = this.running
    this.running = undefined
    waiting?.reject(new Error(message))
    this.advance()
  }
}
