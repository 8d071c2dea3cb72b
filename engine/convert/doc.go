// Package convert is about declared conversion rules, which convert objects between the versions of a CRD without a
// webhook of your own. docs/conversion.md in the repository describes the rules and their laws.
//
// A CRD is compiled with rules by engine.Options.Conversion. Then the methods of engine.Definition convert objects by
// them. This package has the rest:
//
//   - ReportOf says whether the rules fit the CRD, what each of them loses, and how many fields they cover.
//   - Test checks the laws of conversions, such as round trips, on generated objects, and returns small counterexamples.
//   - Append converts one object as a conversion webhook does: it changes nothing but what the rules change.
//   - IsRules recognizes documents with rules among other manifests.
//
// CRDs with conversion webhooks need none of this: see conversionwebhook.Converter.
package convert
