import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"

const key = "crdeval-token"

/** storedToken returns the bearer token of this tab, or "". */
export function storedToken(): string {
  try {
    return sessionStorage.getItem(key) ?? ""
  } catch {
    return "" // Storage is blocked.
  }
}

/** storeToken keeps the bearer token until the tab is closed. An empty token removes it. */
export function storeToken(token: string): void {
  try {
    if (token === "") sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, token)
  } catch {
    // Storage is blocked: the token applies until the page is reloaded.
  }
}

interface TokenFormProps {
  token: string
  /** rejected reports whether the server rejected the last token. */
  rejected: boolean
  use: (token: string) => void
  /** leave moves the focus out of the form, before it disappears. */
  leave: () => void
}

/** TokenForm asks for a bearer token. */
export function TokenForm({ token, rejected, use, leave }: TokenFormProps) {
  useEffect(() => {
    if (token === "") setText("") // The user has selected "Forget token".
  }, [token])
  const form = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => {
    const element = form.current
    return () => {
      if (element?.contains(document.activeElement)) leave()
    }
  }, [])
  const [text, setText] = useState("")
  const [invalid, setInvalid] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    const token = text.trim()
    const valid = /^[\x21-\x7e]+$/.test(token)
    setInvalid(!valid)
    if (valid) use(token)
  }
  const format = "Enter the token only, without \"Bearer\". It has no spaces, and only ASCII characters."
  const error = invalid ? format : rejected ? "The server rejected this token. Enter another one." : ""
  return (
    <form ref={form} class="notice token" aria-label="Access" onSubmit={submit}>
      <label>
        <span>Bearer token</span>
        <input
          type="password" value={text} autocomplete="off" spellcheck={false}
          aria-invalid={error !== ""} aria-describedby="token-note"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Use token</button>
      <p id="token-note">
        {error !== "" && <strong role="alert">{error}</strong>}{" "}
        The page keeps the token until you close this tab, and sends it only to this server.
      </p>
    </form>
  )
}
