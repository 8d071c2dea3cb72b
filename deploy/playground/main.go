//go:build js && wasm

// Command playground is the WebAssembly module of the static playground. It defines the global object crdeval with
// the functions evaluate, explain, complete, hover and examples, from JSON to JSON. Package report documents the types.
package main

import (
	"context"
	"encoding/json"
	"runtime"
	"syscall/js"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/editor/playground/page"
)

func main() {
	// WebAssembly has one thread, and Go does not preempt a goroutine there. Timers, and with them deadlines, run only if
	// the evaluation yields.
	ctx := host.WithHooks(context.Background(), &host.Hooks{Checkpoint: runtime.Gosched})
	evaluator := new(page.Evaluator)
	js.Global().Set("crdeval", map[string]any{
		"evaluate": call(func(in page.Input) any { return evaluator.Evaluate(ctx, in) }),
		"explain":  call(func(in page.ExplainInput) any { return evaluator.Explain(ctx, in) }),
		"complete": call(func(in page.CursorInput) any { return evaluator.Complete(ctx, in) }),
		"hover":    call(func(in page.CursorInput) any { return evaluator.Hover(ctx, in) }),
		"examples": call(func(struct{}) any { return page.Examples() }),
	})
	select {}
}

// call returns a function of JavaScript from JSON to a promise of JSON. Input that is not the JSON of the call rejects
// the promise.
func call[T any](do func(T) any) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		text := "{}"
		if len(args) > 0 && args[0].Type() == js.TypeString {
			text = args[0].String()
		}
		var executor js.Func
		executor = js.FuncOf(func(_ js.Value, settle []js.Value) any {
			go func() {
				defer executor.Release()
				var in T
				err := json.Unmarshal([]byte(text), &in)
				var answer []byte
				if err == nil {
					answer, err = json.Marshal(do(in))
				}
				if err != nil {
					settle[1].Invoke(js.Global().Get("Error").New(err.Error()))
					return
				}
				settle[0].Invoke(string(answer))
			}()
			return nil
		})
		return js.Global().Get("Promise").New(executor)
	})
}
