// Package engine evaluates CustomResourceDefinitions and their objects as a Kubernetes API server does: whether a CRD
// is accepted, whether an object is valid, and what is pruned, defaulted and converted. The reference is Kubernetes
// 1.37. Verdicts, violations with their texts, and resulting objects are upstream's.
//
// Five types are enough for most programs:
//
//   - Document is JSON or YAML text. Documents go in and come out as bytes, so no number loses a digit.
//   - Definition is a compiled CRD. It is immutable and safe for concurrent use: compile it once and evaluate any number
//     of objects. A Set holds several, and finds that of an object.
//   - Write is what a client wants: a Create, an Update or a Patch.
//   - Verdict is the API server's answer to a write, with its Violations and Warnings.
//   - Error says why something could not be evaluated.
//
// Register two CRDs, and admit an object of either:
//
//	var set engine.Set
//	if err := set.Add(ctx, engine.Options{}, engine.YAML(crd1), engine.YAML(crd2)); err != nil {
//		return err
//	}
//	verdict, err := set.Admit(ctx, engine.Create{Object: engine.YAML(object)}, engine.AdmitOptions{})
//	if err != nil {
//		return err // a limit, a deadline, a document without a CRD
//	}
//	if !verdict.Allowed {
//		for _, v := range verdict.Violations {
//			fmt.Println(v) // spec.replicas: Invalid value: 11: spec.replicas in body should be …
//		}
//	}
//
// Set.Add compiles each manifest. To see why a CRD is rejected, or what its rules cost, call Compile or Check, which
// return a Report. Admit decodes the object, prunes fields that the schema does not declare, sets defaults, validates, and
// converts to the version that is stored: Verdict.Object is the answer to the client, Verdict.StoredObject what the
// storage gets. Validate returns the verdict alone. A server with mutating admission calls Decode and Finish instead of
// Admit. Prune, Default, Read and Convert are single steps, for objects that are not part of a write.
//
// What an API server would answer about an object, whatever the HTTP code, is a result: see Verdict.Rejection and
// Report.Rejection. If something could not be evaluated, the function returns an *Error with a Reason. No document and no
// manifest causes a panic, and methods of Definition recover from panics of callbacks: see ReasonInternal. A nil pointer,
// function or interface where a value is required is an error of the program, as in Go's standard library: it can panic,
// here and in the packages below. The package does no I/O: the webhook of a CRD with that conversion strategy is called
// through Options.Converter.
//
// Packages below engine have further subjects:
//
//   - document: the texts of JSON and YAML, their positions; workspace: the files of a repository
//   - diff: two CRDs; convert: declared conversion rules; rules: the costs and traces of rules
//   - publish: OpenAPI, tables, discovery, explain, scale, selectable fields
//   - suite, suite/mutation and crdevaltest: tests of CRDs
//   - kubeserver, host and conversionwebhook: for servers
//
// docs/architecture.md in the repository describes the internals.
package engine
