// Package usage describes the command line to its users: completion.go completes words in shells, and man.go writes the
// manual page.
package usage

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Scripts are the completion scripts by the name of the shell. They call the hidden command __complete, which prints a
// line for each candidate: the word, a tab and a description. If it prints nothing, the shell completes file names.
var Scripts = map[string]string{
	"bash": `# bash completion for crdeval
_crdeval() {
  local IFS=$'\n' line
  COMPREPLY=()
  while read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <(crdeval __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _crdeval crdeval
`,
	"zsh": `#compdef crdeval
_crdeval() {
  local -a list
  local line value text
  while IFS= read -r line; do
    value=${line%%$'\t'*}
    text=${line#*$'\t'}
    list+=("${value//:/\\:}:$text")
  done < <(crdeval __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#list} )); then
    _describe crdeval list
  else
    _files
  fi
}
compdef _crdeval crdeval
`,
	"fish": `# fish completion for crdeval
function __crdeval_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l list (crdeval __complete -- $words[2..-1] 2>/dev/null)
  if test (count $list) -gt 0
    printf '%s\n' $list
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c crdeval -f -a '(__crdeval_complete)'
`,
}

// Candidate is a completion and its description.
type Candidate struct{ Word, Text string }

// Candidates returns the commands, flags or values that complete the last word of a command line without the program.
func Candidates(node *kong.Node, words []string) (list []Candidate) {
	if len(words) == 0 {
		words = []string{""}
	}
	flags := slices.Clone(node.Flags)
	current, previous := words[len(words)-1], ""
	for i, word := range words[:len(words)-1] {
		command := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		isValue := i > 0 && takesValue(flags, words[i-1])
		if command >= 0 && !isValue {
			node = node.Children[command]
			flags = append(flags, node.Flags...)
		}
		previous = word
	}
	add := func(prefix, word, text string) {
		if strings.HasPrefix(prefix+word, current) {
			text, _, _ = strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
			list = append(list, Candidate{prefix + word, text})
		}
	}
	if current == "=" || previous == "=" { // bash splits --flag=value
		if current == "=" {
			current = ""
		} else if len(words) > 2 {
			previous = words[len(words)-3]
		}
	}
	name, _, assigned := strings.Cut(current, "=")
	switch {
	case takesValue(flags, previous):
		for _, v := range valuesOf(findFlag(flags, previous)) {
			add("", v, "")
		}
	case assigned && takesValue(flags, name):
		for _, v := range valuesOf(findFlag(flags, name)) {
			add(name+"=", v, "")
		}
	case strings.HasPrefix(current, "-"):
		for _, f := range flags {
			if !f.Hidden {
				add("--", f.Name, f.Help)
			}
		}
	default:
		for _, n := range node.Children {
			if !n.Hidden {
				add("", n.Name, n.Help)
			}
		}
		for _, p := range node.Positional {
			for _, v := range valuesOf(p) {
				add("", v, "")
			}
		}
	}
	return list
}

// findFlag returns the value of a flag, or nil.
func findFlag(flags []*kong.Flag, word string) *kong.Value {
	for _, f := range flags {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f.Value
		}
	}
	return nil
}

// takesValue reports whether a word is a flag whose value is the next word.
func takesValue(flags []*kong.Flag, word string) bool {
	v := findFlag(flags, word)
	return v != nil && !v.IsBool() && !v.IsCounter()
}

// valuesOf returns the values of an enum.
func valuesOf(v *kong.Value) (list []string) {
	for text := range strings.SplitSeq(v.Enum, ",") {
		if text != "" {
			list = append(list, text)
		}
	}
	return list
}
