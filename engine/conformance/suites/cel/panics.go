package cel

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// panicked returns a panic and the functions of the engine on its stack.
func panicked(e any) []string {
	text := fmt.Sprintf("panic: %v", e)
	places := 0
	for line := range strings.Lines(string(debug.Stack())) {
		if strings.Contains(line, "/engine/internal/") && strings.HasPrefix(line, "\t") && places < 4 {
			text += "\n    " + strings.TrimSpace(line)
			places++
		}
	}
	return []string{text}
}
