package lsp

import "encoding/json"

// The parts of the Language Server Protocol 3.17 that the server uses, with the names of the specification.

type (
	// Position is a line from 0 and a column in UTF-16 code units.
	Position struct {
		Line      uint32 `json:"line"`
		Character uint32 `json:"character"`
	}
	// Range is a range of a text. The end is exclusive.
	Range struct {
		Start Position `json:"start"`
		End   Position `json:"end"`
	}
	// Location is a range of a file.
	Location struct {
		URI   string `json:"uri"`
		Range Range  `json:"range"`
	}
	// ContentChange is a TextDocumentContentChangeEvent. Without a range, the text is the whole document.
	ContentChange struct {
		Range *Range `json:"range"`
		Text  string `json:"text"`
	}
	// Diagnostic is a message about a range.
	Diagnostic struct {
		Range              Range                `json:"range"`
		Severity           int                  `json:"severity"`
		Code               string               `json:"code,omitempty"`
		CodeDescription    *codeDescription     `json:"codeDescription,omitempty"`
		Source             string               `json:"source,omitempty"`
		Message            string               `json:"message"`
		Tags               []int                `json:"tags,omitempty"`
		RelatedInformation []relatedInformation `json:"relatedInformation,omitempty"`
	}
	codeDescription struct {
		Href string `json:"href"`
	}
	relatedInformation struct {
		Location Location `json:"location"`
		Message  string   `json:"message"`
	}
	// TextEdit replaces a range.
	TextEdit struct {
		Range   Range  `json:"range"`
		NewText string `json:"newText"`
	}
)

// Severities of diagnostics.
const (
	severityError       = 1
	severityWarning     = 2
	severityInformation = 3
)

type (
	textDocument struct {
		URI        string `json:"uri"`
		LanguageID string `json:"languageId,omitempty"`
		Version    int32  `json:"version,omitempty"`
		Text       string `json:"text,omitempty"`
	}
	documentParams struct {
		TextDocument   textDocument    `json:"textDocument"`
		ContentChanges []ContentChange `json:"contentChanges"`
		Position       Position        `json:"position"`
		Range          Range           `json:"range"`
		Context        struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	initializeParams struct {
		RootURI          string             `json:"rootUri"`
		RootPath         string             `json:"rootPath"`
		WorkspaceFolders []textDocument     `json:"workspaceFolders"`
		Capabilities     clientCapabilities `json:"capabilities"`
		// InitializationOptions can be of any type, because some clients send options of other servers.
		InitializationOptions json.RawMessage `json:"initializationOptions"`
	}
	clientCapabilities struct {
		Workspace struct {
			DidChangeWatchedFiles struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
		TextDocument struct {
			PublishDiagnostics struct {
				RelatedInformation bool `json:"relatedInformation"`
				VersionSupport     bool `json:"versionSupport"`
			} `json:"publishDiagnostics"`
		} `json:"textDocument"`
	}
	publishDiagnosticsParams struct {
		URI         string       `json:"uri"`
		Version     *int32       `json:"version,omitempty"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	watchedFilesParams struct {
		Changes []struct {
			URI string `json:"uri"`
		} `json:"changes"`
	}
	messageParams struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}
)

type (
	markupContent struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	hover struct {
		Contents markupContent `json:"contents"`
		Range    *Range        `json:"range,omitempty"`
	}
	completionItem struct {
		Label          string         `json:"label"`
		Kind           int            `json:"kind"`
		Detail         string         `json:"detail,omitempty"`
		Documentation  *markupContent `json:"documentation,omitempty"`
		Deprecated     bool           `json:"deprecated,omitempty"`
		SortText       string         `json:"sortText,omitempty"`
		FilterText     string         `json:"filterText,omitempty"`
		InsertTextMode int            `json:"insertTextMode,omitempty"`
		TextEdit       *TextEdit      `json:"textEdit,omitempty"`
	}
	completionList struct {
		IsIncomplete bool             `json:"isIncomplete"`
		Items        []completionItem `json:"items"`
	}
	codeAction struct {
		Title       string         `json:"title"`
		Kind        string         `json:"kind"`
		Diagnostics []Diagnostic   `json:"diagnostics,omitempty"`
		IsPreferred bool           `json:"isPreferred,omitempty"`
		Edit        *workspaceEdit `json:"edit,omitempty"`
	}
	workspaceEdit struct {
		Changes map[string][]TextEdit `json:"changes"`
	}
	documentSymbol struct {
		Name           string           `json:"name"`
		Detail         string           `json:"detail,omitempty"`
		Kind           int              `json:"kind"`
		Range          Range            `json:"range"`
		SelectionRange Range            `json:"selectionRange"`
		Children       []documentSymbol `json:"children,omitempty"`
	}
)

// Kinds of symbols.
const (
	symbolClass = 5
	symbolField = 8
	symbolArray = 18
)

// Kinds of completion items.
const (
	itemField      = 5
	itemClass      = 7
	itemValue      = 12
	itemEnumMember = 20
)

// insertAsIs is the InsertTextMode in which clients do not change the indentation of a text, which has its own.
const insertAsIs = 1
