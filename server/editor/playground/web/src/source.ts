import type { Completions, CursorInput, Example, ExplainInput, Explanation, Hover, Input, Report } from "./types"

/** Source evaluates inputs. The message of its errors is for the user. */
export interface Source {
  evaluate(input: Input, signal: AbortSignal): Promise<Report>
  explain(input: ExplainInput, signal: AbortSignal): Promise<Explanation>
  complete(input: CursorInput, signal?: AbortSignal): Promise<Completions>
  hover(input: CursorInput): Promise<Hover>
  examples(): Promise<Example[]>
}

const timeout = 30_000

/** AccessError reports that the server needs a bearer token, or does not accept the one of the call. */
export class AccessError extends Error {}

/** HttpSource calls the server that serves the page. It sends the bearer token unless it is empty. */
export class HttpSource implements Source {
  constructor(private readonly token: string) {}

  evaluate(input: Input, signal: AbortSignal): Promise<Report> {
    return call("evaluate", this.token, input, signal)
  }

  explain(input: ExplainInput, signal: AbortSignal): Promise<Explanation> {
    return call("explain", this.token, input, signal)
  }

  complete(input: CursorInput, signal?: AbortSignal): Promise<Completions> {
    return call("complete", this.token, input, signal)
  }

  hover(input: CursorInput): Promise<Hover> {
    return call("hover", this.token, input)
  }

  examples(): Promise<Example[]> {
    return call("examples", this.token)
  }
}

async function call<T>(path: string, token: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = {}
  if (body !== undefined) headers["Content-Type"] = "application/json"
  if (token !== "") headers.Authorization = `Bearer ${token}`
  const signals = [AbortSignal.timeout(timeout)]
  if (signal) signals.push(signal)
  let response: Response
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
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
  if (!response.ok) throw await failure(response, token)
  try {
    return (await response.json()) as T
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Error("The response of the server is not JSON.")
  }
}

/** failure returns the error for an HTTP status, with the server's own message if there is one. */
async function failure(response: Response, token: string): Promise<Error> {
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
      return new AccessError(`The server ${token === "" ? "requires a" : "rejected the"} bearer token (401): ${message}`)
    case 403:
      return new AccessError(`The server denies access (403): ${message}`)
    case 413:
      return new Error(`The documents are too large for the server: ${message}`)
    case 429:
    case 503:
      return new Error(`The server is busy (${response.status}): ${message}`)
    default:
      return new Error(`The server failed (${response.status}): ${message}`)
  }
}
