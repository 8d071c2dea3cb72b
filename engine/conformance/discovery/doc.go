// Package discovery compares what is published about definitions, and what server-side apply is told of them, with upstream's own controller and handler.
package discovery
