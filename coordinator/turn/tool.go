package turn

// ToolSpec describes one tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema of the arguments
}
