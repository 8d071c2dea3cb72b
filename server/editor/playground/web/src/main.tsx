import { render } from "preact"
import { App } from "./app"
import { HttpSource } from "./source"
import { WasmSource } from "./wasm"

const wasm = document.documentElement.dataset.source === "wasm"
const evaluator = new WasmSource()
render(<App connect={(token) => (wasm ? evaluator : new HttpSource(token))} />, document.getElementById("app")!)
