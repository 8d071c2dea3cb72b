// Builds the page into dist, or with --static DIR the page of the static site, which evaluates in WebAssembly.
import { build } from "esbuild"
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const [mode, folder] = process.argv.slice(2)
if (mode !== undefined && (mode !== "--static" || folder === undefined)) {
  console.error("usage: node build.mjs [--static DIR]")
  process.exit(2)
}
const wasm = mode === "--static"
const out = wasm ? folder : join(here, "dist")
const source = join(here, "src")
const entries = { app: "main.tsx", theme: "theme.ts", ...(wasm && { worker: "worker.ts" }) }

await mkdir(out, { recursive: true })
await build({
  entryPoints: Object.entries(entries).map(([name, file]) => ({ in: join(source, file), out: name })),
  outdir: out, bundle: true, minify: true, format: "iife", target: "es2022", legalComments: "eof", logLevel: "warning",
  tsconfig: join(here, "tsconfig.json"),
})
await build({ entryPoints: [join(source, "style.css")], outdir: out, minify: true, logLevel: "warning" })
await copyFile(join(source, "icon.svg"), join(out, "icon.svg"))
const page = await readFile(join(source, "index.html"), "utf8")
// A static host sends no Content-Security-Policy header, so the page has it in an element.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; " +
  "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
const site = page.replace('<html lang="en">', '<html lang="en" data-source="wasm">')
  .replace('<meta charset="utf-8">', `$&\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
await writeFile(join(out, "index.html"), wasm ? site : page)
