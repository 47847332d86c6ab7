package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// document is the part of an OpenAPI document that is read here.
type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	OperationID string
	Summary     string
	Parameters  []parameter
	RequestBody struct{ Content map[string]media }
	Responses   map[string]struct{ Content map[string]media }
}

type parameter struct {
	Name, In, Description string
	Schema                schema
}

type media struct{ Schema schema }

type schema struct {
	Ref         string    `json:"$ref"`
	Types       typeNames `json:"type"`
	Format      string
	Description string
	Enum        []string
	Items       *schema
	Required    []string
	Properties  map[string]schema
	Additional  json.RawMessage `json:"additionalProperties"`
	OneOf       []schema
	AnyOf       []schema
	AllOf       []schema
}

// typeNames is "string" or ["string", "null"].
type typeNames []string

func (t *typeNames) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*[]string)(t))
	}
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		return err
	}
	*t = typeNames{name}
	return nil
}

func readDocument(text []byte) (*document, error) {
	d := &document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("failed to read the OpenAPI document: %w", err)
	}
	return d, nil
}

// withoutNull splits `oneOf: [X, null]` and `type: [x, null]` into the schema and whether it may be
// null.
func (s schema) withoutNull() (schema, bool) {
	if len(s.OneOf) == 2 && s.OneOf[1].isNull() {
		return s.OneOf[0], true
	}
	for i, name := range s.Types {
		if name == "null" {
			s.Types = append(append(typeNames{}, s.Types[:i]...), s.Types[i+1:]...)
			return s, true
		}
	}
	return s, false
}

func (s schema) isNull() bool { return len(s.Types) == 1 && s.Types[0] == "null" }

// isText tells whether a schema is just a string with a pattern, such as the name of a queue.
func (s schema) isText() bool { return s.kind() == "string" && len(s.Enum) == 0 }

func (s schema) kind() string {
	if len(s.Types) == 0 {
		return ""
	}
	return s.Types[0]
}

func (s schema) refName() string { return s.Ref[strings.LastIndex(s.Ref, "/")+1:] }

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// goName is the exported Go name of a JSON name: nextCursor, id, http_status, at-most-once.
func goName(name string) string {
	var out strings.Builder
	for _, word := range splitWords(name) {
		switch lower := strings.ToLower(word); lower {
		case "id", "url", "http", "api", "ms":
			if lower == "ms" {
				out.WriteString("Ms")
			} else {
				out.WriteString(strings.ToUpper(lower))
			}
		case "ids":
			out.WriteString("IDs")
		default:
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

func splitWords(name string) []string {
	var words []string
	word := ""
	for i, r := range name {
		switch {
		case strings.ContainsRune("_-. ", r):
			words, word = append(words, word), ""
			continue
		case i > 0 && r >= 'A' && r <= 'Z' && word != "" && word[len(word)-1] >= 'a':
			words, word = append(words, word), ""
		}
		word += string(r)
	}
	words = append(words, word)
	kept := words[:0]
	for _, w := range words {
		if name == strings.ToUpper(name) {
			w = strings.ToLower(w)
		}
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// comment writes a description as a Go comment, wrapped at 100 columns.
func comment(out *strings.Builder, indent, name, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if name != "" {
		text = name + ": " + text
	}
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(indent)+len(line)+len(word) > 96 {
			fmt.Fprintf(out, "%s// %s\n", indent, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	fmt.Fprintf(out, "%s// %s\n", indent, line)
}

// isChoice tells whether a value may be one of several types, which Go has no type for.
func (s schema) isChoice() bool { return len(s.OneOf) > 0 || len(s.AnyOf) > 0 }
