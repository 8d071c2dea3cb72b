import type { Answer, Call } from "./wasm"

// The Web Worker of the static site. It runs the WebAssembly module of deploy/playground, which defines the global
// crdeval: functions from JSON to JSON.

declare function importScripts(...urls: string[]): void
declare class Go {
  importObject: WebAssembly.Imports
  run(instance: WebAssembly.Instance): Promise<void>
}
declare const self: {
  crdeval?: Record<Call["method"], (body: string) => string | Promise<string>>
  onmessage: (event: MessageEvent<Call>) => void
  postMessage(answer: Answer): void
}

/** stopped is the reason why the module cannot be called any more. exited is resolved when it is set. */
let stopped: string | undefined
let exit: () => void
const exited = new Promise<void>((resolve) => (exit = resolve))
const started = start().catch((error) => {
  stopped = error instanceof Error ? error.message : String(error)
})

/** start loads the module and waits until it has defined its functions. */
async function start(): Promise<void> {
  importScripts("wasm_exec.js")
  const go = new Go()
  const response = await fetch("crdeval.wasm.gz")
  if (!response.ok || !response.body) throw new Error(`crdeval.wasm.gz cannot be loaded: HTTP ${response.status}`)
  // Some servers send .gz files with Content-Encoding: gzip. Then the browser has already decompressed the body.
  const [head, body] = await peek(response.body)
  const gzip = head[0] === 0x1f && head[1] === 0x8b
  const stream = gzip ? body.pipeThrough(new DecompressionStream("gzip")) : body
  const module = new Response(stream, { headers: { "Content-Type": "application/wasm" } })
  const { instance } = await WebAssembly.instantiateStreaming(module, go.importObject)
  const end = (error?: unknown) => {
    stopped = error === undefined ? "The evaluator has stopped." : `The evaluator has stopped: ${error}`
    exit()
  }
  go.run(instance).then(() => end(), end)
  for (let i = 0; !self.crdeval && !stopped && i < 1000; i++) await new Promise((resolve) => setTimeout(resolve, 1))
  if (!self.crdeval) throw new Error(stopped ?? "crdeval.wasm.gz defines no functions")
}

/** peek returns the first chunk of a stream, and a stream with all chunks. */
async function peek(stream: ReadableStream<Uint8Array>): Promise<[Uint8Array, ReadableStream<BufferSource>]> {
  const reader = stream.getReader()
  const first = await reader.read()
  const head = first.value ?? new Uint8Array()
  const whole = new ReadableStream<BufferSource>({
    start: (controller) => controller.enqueue(head as BufferSource),
    pull: async (controller) => {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value as BufferSource)
    },
  })
  return [head, whole]
}

self.onmessage = async ({ data: { id, method, body } }) => {
  await started
  try {
    const answer = stopped === undefined ? await Promise.race([self.crdeval![method](body), exited]) : undefined
    if (typeof answer === "string") self.postMessage({ id, body: answer })
    else self.postMessage({ id, error: stopped, fatal: true })
  } catch (error) {
    self.postMessage({ id, error: `The evaluator has failed: ${error instanceof Error ? error.message : error}` })
  }
}
