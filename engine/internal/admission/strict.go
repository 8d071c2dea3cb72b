package admission

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

func unknownField(path string) string { return `unknown field "` + path + `"` }

// addUnknown adds the unknown fields with these paths to the errors of strict decoding. It adds nothing if memory is
// short.
func (p *pass) addUnknown(paths []string) {
	const perText = 32 // the string, and the quoting text
	size := len(paths) * perText
	for _, path := range paths {
		size += len(path)
	}
	if p.r.FieldValidation == Strict {
		size *= 6 // the errors, and the texts of the rejection
	}
	if p.grow(int64(size)) != nil {
		return
	}
	p.out.Strict = slices.Grow(p.out.Strict, len(paths))
	for _, path := range paths {
		p.out.Strict = append(p.out.Strict, unknownField(path))
	}
}

// reportStrict rejects the errors of strict decoding, or adds them as warnings.
func (p *pass) reportStrict() (rejected bool) {
	if len(p.out.Strict) == 0 || p.r.FieldValidation != Strict {
		if !p.r.StrictApart {
			p.warnStrict()
		}
		return false
	}
	switch cause := strictError(p.out.Strict); {
	case p.r.Patched:
		p.out.Rejection = p.rejectPatched(cause.Error())
	case p.of.Version == "":
		// Upstream reads the kind from the decoded object, which has no version.
		text := runtime.NewMissingVersionErr("object has no apiVersion field").Error()
		p.out.Rejection = badRequest(text, cause.Error())
	default:
		p.out.Rejection = undecodable(p.of.Kind, &p.of, cause, p.r.Body)
	}
	return true
}

// warnStrict adds the errors of strict decoding as warnings.
func (p *pass) warnStrict() {
	for _, text := range p.out.Strict {
		p.warn(StrictWarnings(text)...)
	}
}

// strictError returns upstream's strict decoding error with these texts.
func strictError(texts []string) error {
	errs := make([]error, len(texts))
	for i, text := range texts {
		errs[i] = errors.New(text)
	}
	return runtime.NewStrictDecodingError(errs)
}

// StrictWarnings returns the warnings for one strict error. The YAML decoder reports several errors in one text.
//
// Upstream: endpoints/handlers/rest.go, parseYAMLWarnings.
func StrictWarnings(text string) []string {
	rest, ok := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
	if !ok {
		if rest, ok = strings.CutPrefix(text, "error converting YAML to JSON: yaml: unmarshal errors:\n"); !ok {
			return []string{text}
		}
	}
	lines := strings.Split(rest, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}
