import type { Example, ExplainInput, Explanation, Input, Report } from "./types"

/** Source evaluates inputs. The message of its errors is for the user. */
export interface Source {
  evaluate(input: Input, signal: AbortSignal): Promise<Report>
  explain(input: ExplainInput, signal: AbortSignal): Promise<Explanation>
  examples(): Promise<Example[]>
}

const timeout = 30_000

/** HttpSource asks the server that serves the page. */
export class HttpSource implements Source {
  evaluate(input: Input, signal: AbortSignal): Promise<Report> {
    return call("evaluate", input, signal)
  }

  explain(input: ExplainInput, signal: AbortSignal): Promise<Explanation> {
    return call("explain", input, signal)
  }

  examples(): Promise<Example[]> {
    return call("examples")
  }
}

async function call<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const signals = [AbortSignal.timeout(timeout)]
  if (signal) signals.push(signal)
  let response: Response
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.any(signals),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    if (error instanceof DOMException && error.name === "TimeoutError") {
      throw new Error(`The server did not respond within ${timeout / 1000} s.`)
    }
    throw new Error("The server cannot be reached. Is it still running?")
  }
  if (!response.ok) throw new Error(await failure(response))
  try {
    return (await response.json()) as T
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Error("The response of the server is not JSON.")
  }
}

/** failure returns a sentence for an HTTP error, with the server's own message if there is one. */
async function failure(response: Response): Promise<string> {
  const text = (await response.text().catch(() => "")).trim()
  let message = text
  try {
    const value = JSON.parse(text)
    message = value.message ?? value.error?.message ?? text
  } catch {
    // The body is plain text.
  }
  message = message.slice(0, 500)
  switch (response.status) {
    case 401:
    case 403:
      return `The server denies access (${response.status}): ${message}`
    case 413:
      return `The documents are too large for the server: ${message}`
    case 429:
    case 503:
      return `The server is busy (${response.status}): ${message}`
    default:
      return `The server failed (${response.status}): ${message}`
  }
}
