import { defineConfig } from "@playwright/test"

/** required returns a variable that .ci/playground sets. */
function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run .ci/playground, which builds what the tests need`)
  return value
}

const server = `127.0.0.1:${process.env.PLAYGROUND_PORT ?? "18471"}`
const site = `127.0.0.1:${process.env.PLAYGROUND_SITE_PORT ?? "18472"}`

const service = `127.0.0.1:${process.env.PLAYGROUND_SERVICE_PORT ?? "18473"}`

const once = {
  timeout: 60_000, reuseExistingServer: false, gracefulShutdown: { signal: "SIGTERM" as const, timeout: 5000 },
}

export default defineConfig({
  testDir: "test",
  outputDir: "test-results",
  reporter: "list",
  timeout: 180_000, // a busy machine is slower, not wrong
  expect: { timeout: 60_000 },
  workers: 1,
  retries: 0,
  forbidOnly: true,
  use: {
    baseURL: `http://${server}/`,
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync",
      ],
    },
    viewport: { width: 1440, height: 900 },
    colorScheme: "light",
    permissions: ["clipboard-read", "clipboard-write"],
  },
  metadata: { site: `http://${site}/`, service: `http://${service}/playground/` },
  webServer: [
    {
      command: `exec ${required("CRDEVAL")} playground --address ${server}`,
      url: `http://${server}/`, ...once,
    },
    {
      command: `exec ${required("CRDEVAL")} serve --playground --store memory --grpc-address 127.0.0.1:0 --http-address ${service} ` +
        `--auth-token-file ${required("PLAYGROUND_TOKENS")}`,
      url: `http://${service}/playground/`, ...once, stderr: "ignore",
    },
    {
      command: `exec python3 -m http.server --bind ${site.replace(":", " ")} --directory ${required("PLAYGROUND_SITE")}`,
      url: `http://${site}/`, ...once, stderr: "ignore",
    },
  ],
})
