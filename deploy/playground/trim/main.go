// Command trim copies modules into a directory, and removes declarations that the playground's WebAssembly module does
// not need. It also writes DIR/go.mod, with which go build -modfile uses the copies. They are build artefacts.
//
// Go links everything that the initialization of a package refers to. For example, k8s.io/api/core/v1 registers all
// types of Kubernetes, although the engine uses only a few strings of it.
//
// Usage: trim DIR
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cut says what to remove from a file.
type cut struct {
	file  string // import path of the package and name of the file
	names []string
	// stub keeps the functions with these names, and lets them panic.
	stub bool
}

// all in cut.names stands for all declarations.
const all = "*"

// scheme are the declarations that register the types of an API group.
var scheme = []string{"SchemeBuilder", "AddToScheme", "addKnownTypes"}

// protobuf are the methods of the wire format, which the playground does not use. String stays: messages contain it.
var protobuf = []string{"Marshal", "MarshalTo", "MarshalToSizedBuffer", "Unmarshal", "Size"}

// deepCopy are the methods that copy an object, which the playground does not call for types of other API groups.
var deepCopy = []string{"DeepCopyInto", "DeepCopyObject"}

// jsonMethods are those of schemas of OpenAPI, which the playground neither reads nor writes as JSON.
var jsonMethods = []string{"MarshalJSON", "UnmarshalJSON"}

// olderScales returns the cuts of API groups whose types upstream's decoder of Scales knows, and of the types in them. A body
// can declare such a type. It is decoded, and then rejected.
func olderScales() (list []cut) {
	for _, group := range []string{"core/v1", "apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"} {
		dir := "k8s.io/api/" + group
		list = append(list,
			cut{file: dir + "/generated.pb.go", names: append([]string{"String"}, protobuf...), stub: true},
			cut{file: dir + "/zz_generated.deepcopy.go", names: deepCopy, stub: true},
			cut{file: dir + "/types_swagger_doc_generated.go", names: []string{all}})
	}
	return list
}

// cuts are checked by the compiler, and by .ci/playground, which evaluates the gallery in the module.
var cuts = append(olderScales(), []cut{
	{file: "k8s.io/api/core/v1/register.go", names: scheme},
	{file: "k8s.io/api/authentication/v1/register.go", names: append([]string{"localSchemeBuilder"}, scheme...)},
	{file: "k8s.io/api/apidiscovery/v2/register.go", names: scheme},
	{file: "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct/direct.go",
		names: []string{"Marshal", "Unmarshal", "Diagnose"}, stub: true},
	{file: "k8s.io/apimachinery/pkg/apis/meta/v1/generated.pb.go", names: protobuf, stub: true},
	{file: "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/generated.pb.go", names: protobuf, stub: true},
	{file: "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1/generated.pb.go", names: protobuf, stub: true},
	{file: "k8s.io/api/autoscaling/v1/generated.pb.go", names: protobuf, stub: true},
	{file: "k8s.io/api/autoscaling/v1/types_swagger_doc_generated.go", names: []string{all}},
	{file: "k8s.io/apimachinery/pkg/runtime/swagger_doc_generator.go",
		names: []string{"astFrom", "fmtRawDoc", "fieldName", "ParseDocumentationFrom"}},
	{file: "github.com/google/cel-go/cel/prompt.go", names: []string{all}},
	{file: "k8s.io/kube-openapi/pkg/validation/spec/gnostic.go", names: []string{all}},
	{file: "k8s.io/kube-openapi/pkg/validation/spec/schema.go", names: jsonMethods, stub: true},
	{file: "k8s.io/kube-openapi/pkg/validation/spec/info.go", names: jsonMethods, stub: true},
	{file: "k8s.io/kube-openapi/pkg/validation/spec/ref.go", names: jsonMethods, stub: true},
	{file: "k8s.io/kube-openapi/pkg/validation/spec/swagger.go", names: jsonMethods, stub: true},
	{file: "k8s.io/apimachinery/pkg/util/net/http.go", names: []string{
		"defaultTransport", "SetOldTransportDefaults", "SetTransportDefaults", "readIdleTimeoutSeconds", "pingTimeoutSeconds",
		"configureHTTP2Transport", "allowsHTTP2", "RoundTripperWrapper", "DialFunc", "DialerFor", "CloseIdleConnectionsFor",
		"TLSClientConfigHolder", "TLSClientConfig", "GetHTTPClient", "SourceIPs", "containsIP", "GetClientIP",
		"AppendForwardedForHeader", "defaultProxyFuncPointer", "isDefault", "NewProxierWithNoProxyCIDR", "DialerFunc", "Dial",
		"Dialer", "CloneRequest", "CloneHeader",
	}},
}...)

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: trim DIR"))
	}
	dir, err := filepath.Abs(os.Args[1])
	fail(err)
	fail(os.MkdirAll(dir, 0o755))
	modfile := filepath.Join(dir, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		fail(err)
		fail(os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	copies := map[string]string{}
	for _, c := range cuts {
		module, err := list("{{.Module.Path}}", path.Dir(c.file))
		fail(err)
		if copies[module] == "" {
			source, err := list("{{.Module.Dir}}", path.Dir(c.file))
			fail(err)
			copies[module] = filepath.Join(dir, "modules", module)
			fail(os.CopyFS(copies[module], os.DirFS(source)))
			fail(command("mod", "edit", "-replace="+module+"="+copies[module], modfile).Run())
		}
		file := filepath.Join(copies[module], strings.TrimPrefix(c.file, module))
		text, err := c.apply(file)
		fail(err)
		fail(os.WriteFile(file, text, 0o644))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "trim:", err)
		os.Exit(1)
	}
}

// command returns a command of go.
func command(arguments ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), "go", arguments...)
}

// list returns what go list prints about a package.
func list(format, of string) (string, error) {
	out, err := command("list", "-f", format, of).Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", of, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// apply returns a file without the declarations. A name that the file does not declare is an error.
func (c *cut) apply(source string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, source, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	cuts := func(name string) bool {
		found[name] = true
		return slices.Contains(c.names, name) || slices.Contains(c.names, all)
	}
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if cuts(d.Name.Name) && c.stub {
				d.Body.List = []ast.Stmt{&ast.ExprStmt{X: &ast.CallExpr{
					Fun: ast.NewIdent("panic"), Args: []ast.Expr{&ast.BasicLit{Kind: token.STRING,
						Value: strconv.Quote(d.Name.Name + " is not linked")}},
				}}}
				return false
			}
			return cuts(d.Name.Name)
		case *ast.GenDecl:
			d.Specs = slices.DeleteFunc(d.Specs, func(s ast.Spec) bool {
				switch s := s.(type) {
				case *ast.TypeSpec:
					return cuts(s.Name.Name)
				case *ast.ValueSpec:
					return cuts(s.Names[0].Name)
				}
				return false
			})
			return len(d.Specs) == 0
		}
		return false
	})
	for _, name := range c.names {
		if name != all && !found[name] {
			return nil, fmt.Errorf("%s does not declare %s any more: correct the list of cuts", c.file, name)
		}
	}
	dropImports(file)
	var out bytes.Buffer
	if err := format.Node(&out, files, file); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// dropImports removes the imports that a file no longer uses.
func dropImports(file *ast.File) {
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			d.Specs = slices.DeleteFunc(d.Specs, func(s ast.Spec) bool {
				i := s.(*ast.ImportSpec)
				from, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
				name := path.Base(from)
				if i.Name != nil {
					name = i.Name.Name
				}
				return name != "_" && !used[name]
			})
		}
	}
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.IMPORT && len(g.Specs) == 0
	})
}
