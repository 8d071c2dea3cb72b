import type { Input } from "./types"

/** Shared is what a link holds. */
export interface Shared {
  input: Input
  update: boolean
  tab: string
  path: string
}

/** maxFragment is the largest fragment that is read, in characters. */
export const maxFragment = 512 * 1024

/** maxShared is the largest text that a link may hold, in bytes of JSON. */
export const maxShared = 2 * 1024 * 1024

const prefix = "1."

/** encodeShared returns the fragment of a link: a version, then JSON, compressed by deflate, in base64url. */
export async function encodeShared(shared: Shared): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(shared))
  if (json.length > maxShared) {
    throw new Error(`The documents have ${size(json.length)}. A link can hold at most ${size(maxShared)}.`)
  }
  const packed = await read(new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw")), Infinity)
  let binary = ""
  for (let i = 0; i < packed.length; i += 8192) binary += String.fromCharCode(...packed.subarray(i, i + 8192))
  const fragment = prefix + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
  if (fragment.length > maxFragment) {
    throw new Error(`The link would have ${size(fragment.length)}. The maximum is ${size(maxFragment)}. Shorten the documents.`)
  }
  return fragment
}

/** decodeShared returns what the fragment of a link holds. The message of its error is for the user. */
export async function decodeShared(fragment: string): Promise<Shared> {
  if (fragment.length > maxFragment) {
    throw new Error(`The link has ${size(fragment.length)}. The maximum is ${size(maxFragment)}.`)
  }
  if (!fragment.startsWith(prefix)) {
    throw new Error("The link is damaged, or another version of the playground created it.")
  }
  let text: string
  try {
    const binary = atob(fragment.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/"))
    const packed = Uint8Array.from(binary, (c) => c.charCodeAt(0))
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))
    text = new TextDecoder("utf-8", { fatal: true }).decode(await read(stream, maxShared))
  } catch (error) {
    if (error instanceof RangeError) throw new Error(`The link holds more than ${size(maxShared)} of text.`)
    throw new Error("The link is damaged: part of it is missing or changed. Copy it again.")
  }
  return checked(text)
}

/** checked parses the JSON of a link and fills what is missing. */
function checked(text: string): Shared {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error("The link is damaged: its content is not JSON.")
  }
  const input = value?.input
  if (typeof input !== "object" || input === null) {
    throw new Error("The link holds no CRD and no object.")
  }
  const fields = input as Record<string, unknown>
  const field = (name: Exclude<keyof Input, "minor">) => {
    const found = fields[name] ?? ""
    if (typeof found !== "string") throw new Error(`The link is damaged: ${name} is not text.`)
    return found
  }
  const minor = fields.minor ?? 0
  if (typeof minor !== "number" || !Number.isSafeInteger(minor)) throw new Error("The link is damaged: minor is not a number.")
  return {
    input: {
      minor,
      crd: field("crd"), object: field("object"), oldObject: field("oldObject"),
      fieldValidation: field("fieldValidation"), subresource: field("subresource"), version: field("version"),
    },
    update: value.update === true,
    tab: typeof value.tab === "string" ? value.tab : "",
    path: typeof value.path === "string" ? value.path : "",
  }
}

/** read collects a stream of at most limit bytes. It throws a RangeError for a longer one. */
async function read(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > limit) {
      void reader.cancel()
      throw new RangeError("too long")
    }
    chunks.push(value)
  }
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function size(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
