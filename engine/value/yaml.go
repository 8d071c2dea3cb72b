package value

// YAMLSource is the YAML text that a document was read from.
type YAMLSource struct{ strict error }

// Position of a path.
func (y *YAMLSource) Position(Path) Position { return Position{} }

// KeyPosition of a path.
func (y *YAMLSource) KeyPosition(Path) Position { return Position{} }
