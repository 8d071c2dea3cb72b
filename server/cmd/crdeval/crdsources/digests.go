package crdsources

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
)

// addDigests returns the text of a configuration file with the digests of entries that have none. The rest of the text
// does not change.
func addDigests(text []byte, digests map[*source]string) ([]byte, error) {
	lines := slices.Collect(bytes.Lines(text))
	sources := make([]*source, 0, len(digests))
	for s := range digests {
		sources = append(sources, s)
	}
	// From the end, because several entries can be in one line.
	slices.SortFunc(sources, func(a, b *source) int {
		return cmp.Or(cmp.Compare(b.at.Line, a.at.Line), cmp.Compare(b.at.Column, a.at.Column))
	})
	for _, s := range sources {
		line := lines[s.at.Line-1]
		before := len(string([]rune(string(line))[:s.at.Column-1]))
		end := bytes.Index(line[before:], []byte(s.url))
		if end < 0 || end > 1 {
			return nil, fmt.Errorf("the URL %s has escapes or several lines: write it in one line",
				download.WithoutSecrets(s.url))
		}
		end += before + len(s.url)
		if end < len(line) && (line[end] == '"' || line[end] == '\'') {
			end++
		}
		if s.flow {
			lines[s.at.Line-1] = slices.Concat(line[:end], []byte(", sha256: "+digests[s]), line[end:])
			continue
		}
		added := strings.Repeat(" ", s.indent) + "sha256: " + digests[s] + "\n"
		if !bytes.HasSuffix(line, []byte("\n")) {
			added = "\n" + added
		}
		lines[s.at.Line-1] = append(slices.Clone(line), added...)
	}
	return bytes.Join(lines, nil), nil
}

// writeDigests adds digests to the configuration file.
func (s *Sources) writeDigests(digests map[*source]string) error {
	text, err := os.ReadFile(s.config)
	if err != nil {
		return err
	}
	if text, err = addDigests(text, digests); err != nil {
		return fmt.Errorf("%s: %w", s.config, err)
	}
	return replaceFile(s.config, text)
}
