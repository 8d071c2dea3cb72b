// Evaluates the gallery in the WebAssembly module with Node.js, and a CRD whose patterns need more time than the limit.
// Usage: node verify.mjs DIR, with the directory of the static site. It fails if a result is wrong, and prints times.
import { createRequire } from "node:module"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { gunzipSync } from "node:zlib"

const dir = resolve(process.argv[2])

function expect(condition, text) {
  if (condition) return
  console.error(`verify.mjs: ${text}`)
  process.exit(1)
}

createRequire(import.meta.url)(resolve(dir, "wasm_exec.js"))
const start = performance.now()
const go = new Go()
const module = gunzipSync(readFileSync(resolve(dir, "crdeval.wasm.gz")))
const { instance } = await WebAssembly.instantiate(module, go.importObject)
go.run(instance)
while (!globalThis.crdeval) await new Promise((done) => setTimeout(done, 1))
const call = async (name, input) => JSON.parse(await crdeval[name](JSON.stringify(input)))

const examples = await call("examples", {})
const allowed = { defaults: true, ratcheting: true, cost: undefined }
for (const [i, { id, input }] of examples.entries()) {
  const report = await call("evaluate", input)
  if (i === 0) {
    console.log(`first verdict after ${(performance.now() - start).toFixed(0)} ms`)
  }
  const want = id in allowed ? allowed[id] : false
  expect(report.errors.length === 0 && report.object?.allowed === want, `${id}: ${JSON.stringify(report)}`)
}
expect(examples.length === 8, `${examples.length} examples`)
const warm = performance.now()
await call("evaluate", { ...examples[1].input, object: examples[1].input.object + "# changed\n" })
console.log(`warm verdict after ${(performance.now() - warm).toFixed(1)} ms`)
const { text } = await call("explain", { crd: examples[0].input.crd, path: "spec.fuel" })
expect(text.includes("What heats the oven"), text)
const cursor = { document: "crd", crd: "# \u{1f642}\nkind: CustomResourceDefinition\n", offset: 7 }
const { field } = await call("hover", { ...cursor, crd: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", offset: 2 })
expect(field?.path === "apiVersion", JSON.stringify(field))
const { items } = await call("complete", cursor)
expect(items.some(({ label }) => label === "apiVersion"), JSON.stringify(items))
// Bodies of a scale subresource, of types that the module has without all of their methods: see trim.
for (const type of ["apps/v1beta1 Scale", "apps/v1beta2 Deployment", "extensions/v1beta1 Scale", "autoscaling/v1 Scale"]) {
  const [apiVersion, kind] = type.split(" ")
  const object = JSON.stringify({ apiVersion, kind, metadata: { name: "a" }, spec: { replicas: 1 } })
  const version = `- name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {n: {type: integer}}}}}`
  const report = await call("evaluate", {
    object, oldObject: "apiVersion: a.example.com/v1\nkind: Slow\nmetadata: {name: a}\nspec: {n: 2}\n", subresource: "scale",
    crd: `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: slows.a.example.com}
spec:
  group: a.example.com
  scope: Cluster
  names: {plural: slows, singular: slow, kind: Slow}
  versions:
  ${version}
`,
  })
  const want = apiVersion === "autoscaling/v1" ? 200 : 400
  expect(report.errors.length === 0 && report.object?.code === want, `${type}: ${JSON.stringify(report)}`)
}
await crdeval.evaluate("{").then(() => expect(false, "broken JSON is accepted"), () => {})

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: slows.a.example.com}
spec:
  group: a.example.com
  scope: Cluster
  names: {plural: slows, singular: slow, kind: Slow}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          list:
            type: array
            items: {type: string, pattern: "^(x|[ab]{1,90}c?){1,9}([ab]{1,90}d?){1,9}e$"}
`
const object = "apiVersion: a.example.com/v1\nkind: Slow\nmetadata: {name: a}\nlist:\n" + `- ${"ab".repeat(4000)}\n`.repeat(120)
const slow = performance.now()
const late = await call("evaluate", { crd, object })
console.log(`slow patterns ended after ${(performance.now() - slow).toFixed(0)} ms`)
expect(late.errors[0]?.reason === "ITEM_DEADLINE", JSON.stringify(late).slice(0, 1000))
process.exit(0)
