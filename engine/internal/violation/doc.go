// Package violation defines the errors of an object or a CRD: upstream's field.Error with the object path, the schema
// pointer and the pipeline step. It formats upstream's texts and bounds the violations of one document.
package violation
