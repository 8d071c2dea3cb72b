// Package violation has the type of an error of an object or a CRD: upstream's field.Error with its path in the object,
// its pointer in the schema and the step that found it. It writes upstream's texts, bounds the violations of a
// document, and knows which violations keep rules from running.
package violation
