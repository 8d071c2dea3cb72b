package page

import (
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"
	"github.com/crdeval/crdeval/engine/rules"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// write is the evaluation of the write of an object.
type write struct {
	*compiled
	input   *Input
	object  *manifestText
	version *engine.VersionInfo // of the request, nil if it is not known

	rootSchema *diagnosis.Schema // of the version, see schemaOf
	schemaRead bool
}

// admit evaluates the write and fills in the report.
func (w *write) admit(ctx context.Context, r *Report) {
	failed, evaluated := w.object.failure()
	if failed != nil {
		r.Errors = append(r.Errors, *failed)
	}
	old := newDocument(DocumentOldObject, w.input.OldObject)
	if old.isEmpty() {
		old = nil
	} else if failed, readable := old.failure(); failed != nil {
		r.Errors = append(r.Errors, *failed)
		evaluated = evaluated && readable
	}
	if !evaluated {
		return
	}
	create := engine.Create{Version: w.input.Version, Object: w.object.Manifest.Document}
	var item engine.Write = create
	if old != nil || w.input.Subresource != "" {
		update := engine.Update{Version: w.input.Version, Object: create.Object, Subresource: w.input.Subresource}
		if old != nil {
			update.Old = old.Manifest.Document
		}
		item = update
	}
	w.version = w.requested(old)
	verdict, err := w.definition.Admit(ctx, item, engine.AdmitOptions{FieldValidation: fieldValidations[w.input.FieldValidation], CompleteMetadata: true, Trace: rules.TraceAll})
	if err != nil {
		r.Errors = append(r.Errors, *w.culprit(ctx, create, old).failed(err, w.manifest))
		return
	}
	r.Object = w.verdict(verdict, old != nil)
	for i := range verdict.Traces {
		r.Traces = append(r.Traces, w.trace(w.versionIndex(), &verdict.Traces[i]))
	}
	r.OmittedTraces = verdict.OmittedTraces
	if verdict.Allowed && w.input.Subresource != "scale" {
		r.Table, err = w.table(ctx, verdict.Object)
		if err != nil {
			e := failure(err)
			e.Message = "table: " + e.Message
			r.Errors = append(r.Errors, *e)
		}
	}
}

// culprit returns the document that is the cause of an error: the old object, if the object can be created.
func (w *write) culprit(ctx context.Context, create engine.Create, old *manifestText) *manifestText {
	if old == nil {
		return w.object
	}
	if _, err := w.definition.Validate(ctx, create, engine.ValidateOptions{CompleteMetadata: true}); err != nil {
		return w.object
	}
	return old
}

// requested returns the version of the request, or nil.
func (w *write) requested(old *manifestText) *engine.VersionInfo {
	name := w.input.Version
	if name == "" {
		d := w.object
		if w.input.Subresource == "scale" && old != nil {
			d = old // a Scale has a version of its own
		}
		_, name, _ = strings.Cut(d.APIVersion, "/")
	}
	i := slices.IndexFunc(w.report.Versions, func(v engine.VersionInfo) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &w.report.Versions[i]
}

func (w *write) versionIndex() int {
	if w.version == nil {
		return -1
	}
	return w.version.Index
}

func (w *write) verdict(v *engine.Verdict, isUpdate bool) *Object {
	out := &Object{
		Allowed: v.Allowed, Operation: "create", Code: codeCreated,
	}
	out.Changes, out.OmittedChanges = w.changes(v)
	if isUpdate {
		out.Operation, out.Code = "update", codeOK
	}
	if v.Rejection != nil {
		out.Code, out.Reason, out.Message = int(v.Rejection.Code), v.Rejection.Reason, v.Rejection.Message
	}
	if w.version != nil {
		out.Version = w.version.Name
	}
	found := newFindings(func(f *diagnosis.Finding) *Range { return w.ruleRange(w.versionIndex(), f.SchemaPointer) })
	answer := workspace.Answer{Verdict: v}
	if w.input.Version == "" { // otherwise the version of the object has no effect, and a fix would not change it
		answer.CRDs = []*workspace.CRD{w.manifest}
	}
	found.add(w.object, diagnosis.OfAnswers([]workspace.Answer{answer}), w.schemaOf)
	found.add(w.object, diagnosis.OfManifest(w.object.Manifest), nil)
	out.Violations, out.Ratcheted, out.Warnings = found.violations, found.ratcheted, found.warnings
	if sent := w.object.JSON(""); sent != nil {
		out.Submitted = toYAML(sent)
	}
	if v.Allowed {
		stored := v.StoredObject
		if stored == nil {
			stored = v.Object
		}
		out.Result = toYAML(stored)
	}
	return out
}

// Codes of responses. Package net/http would make the WebAssembly module larger.
const (
	codeOK      = 200
	codeCreated = 201
)

// schemaOf returns the schema of the value at a pointer of the object, or nil.
func (w *write) schemaOf(pointer string) *diagnosis.Schema {
	if !w.schemaRead && w.version != nil {
		w.rootSchema = diagnosis.ReadSchema(w.document.JSON(w.document.SchemaPointer(w.version.Index)))
	}
	w.schemaRead = true
	return w.rootSchema.At(pointer)
}

// table returns what kubectl get prints for the object.
func (w *write) table(ctx context.Context, object []byte) (*Table, error) {
	version := w.definition.StorageVersion()
	if w.version != nil {
		version = w.version.Name
	}
	t, err := publish.TableOf(ctx, w.definition, version, []engine.Document{engine.JSON(object)},
		publish.TableOptions{MaxBytes: maxTableBytes})
	if err != nil {
		return nil, err
	}
	text, err := t.Text(ctx, publish.TextOptions{MaxBytes: maxTableBytes})
	if err != nil {
		return nil, err
	}
	wide, err := t.Text(ctx, publish.TextOptions{Wide: true, MaxBytes: maxTableBytes})
	if err != nil {
		return nil, err
	}
	return &Table{Text: string(text), WideText: string(wide)}, nil
}

// maxYAMLBytes bounds an object as YAML, which is longer than its JSON by the indentation of each line.
const maxYAMLBytes = 16 << 20

// toYAML returns JSON as YAML with sorted keys, or the JSON itself if that fails or the YAML can exceed maxYAMLBytes.
func toYAML(text []byte) string {
	if indented(text) > maxYAMLBytes {
		return string(text)
	}
	out, err := yaml.JSONToYAML(text)
	if err != nil {
		return string(text)
	}
	return string(out)
}

// indented returns an upper bound for the length of valid JSON as YAML: each member and item has a line, as has each word
// of a text.
func indented(text []byte) (length int) {
	depth, isText := 0, false
	for i := 0; i < len(text); i++ {
		length++
		switch c := text[i]; {
		case c == '\\':
			if i++; text[i] == 'n' {
				length += 2 * depth
			}
		case c == '"':
			isText = !isText
		case c == ' ' && isText:
			length += 2 * depth
		case isText:
		case c == '{' || c == '[':
			depth++
			length += 2 * depth
		case c == '}' || c == ']':
			depth--
		case c == ',':
			length += 2 * depth
		}
	}
	return length
}
