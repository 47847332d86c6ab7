// Command generate writes the types and calls of package api, and the options of jobs, from the
// server's OpenAPI document:
//
//	go generate ./...
//
// It knows the few constructs that the document uses, and stops at any other.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate OPENAPI_JSON DIRECTORY")
		os.Exit(2)
	}
	files, err := generate(os.Args[1])
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[2], name), text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate returns the files by their name beside package api.
func generate(openapi string) (map[string][]byte, error) {
	text, err := os.ReadFile(openapi)
	if err != nil {
		return nil, err
	}
	document, err := readDocument(text)
	if err != nil {
		return nil, err
	}
	types, err := writeTypes(document)
	if err != nil {
		return nil, err
	}
	calls, err := writeCalls(document)
	if err != nil {
		return nil, err
	}
	options, err := writeOptions(document)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"types.go": types, "calls.go": calls, "../options.go": options}, nil
}
