import { render } from "preact"
import { App } from "./app"
import { HttpSource, type Source } from "./source"
import { WasmSource } from "./wasm"

const wasm = document.documentElement.dataset.source === "wasm"
const source: Source = wasm ? new WasmSource() : new HttpSource()
render(<App source={source} />, document.getElementById("app")!)
