package terminal

import (
	"regexp"
	"strconv"
	"strings"
)

// breaks are characters that end a line, and those that change the direction of text.
var breaks = regexp.MustCompile(`[\n\r\x{85}\x{2028}\x{2029}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

// OneLine escapes line breaks and changes of direction in a text that comes from a manifest, such as a name. Otherwise,
// the text could look like other lines of the output. CI systems even run some lines as commands.
func OneLine(text string) string {
	return breaks.ReplaceAllStringFunc(text, func(c string) string { return strings.Trim(strconv.QuoteToASCII(c), `"`) })
}
