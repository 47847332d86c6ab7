package main

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
)

// What a job does, and when a schedule creates it, are not options of one that is enqueued.
var notOptions = []string{"kind", "payload", "api", "http", "like", "schedule", "isRecurring", "timezone"}

// Options that are written by hand: the deadline is a time or a duration.
var handwrittenOptions = []string{"startBefore"}

// writeOptions writes a function for each option of a job, so that none can be forgotten.
func writeOptions(d *document) ([]byte, error) {
	var out strings.Builder
	request := d.Components.Schemas["CreateJobRequest"]
	for _, name := range sortedNames(request.Properties) {
		if slices.Contains(notOptions, name) || slices.Contains(handwrittenOptions, name) {
			continue
		}
		if err := writeOption(&out, d, name, request.Properties[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	imports := "import (\n\t\"maps\"\n\t\"time\"\n\n\t\"steadfast.example/steadfast/api\"\n)\n\n"
	text := strings.Replace(header, "package api", "package steadfast", 1)
	return format.Source([]byte(text + imports + out.String()))
}

func writeOption(out *strings.Builder, d *document, name string, property schema) error {
	inner, _ := property.withoutNull()
	fieldType, err := typeOf(d, inner, true)
	if err != nil {
		return err
	}
	description := inner.Description
	if description == "" {
		description = property.Description
	}
	function := goName(name)
	if title, rest, ok := strings.Cut(description, ": "); ok && strings.EqualFold(strings.ReplaceAll(title, " ", ""), name) {
		description = rest
	}
	comment(out, "", function, description)
	parameter, value := strings.TrimPrefix(fieldType, "*"), "value"
	switch {
	case parameter == "Duration":
		parameter, value = "time.Duration", "api.Ptr(api.Duration(value))"
	case parameter == "map[string]string":
		value = "maps.Clone(value)"
	case strings.HasPrefix(parameter, "[]"):
		parameter = "..." + strings.TrimPrefix(parameter, "[]")
	case strings.HasPrefix(fieldType, "*"):
		value = "&value"
	}
	if first := parameter[0]; first >= 'A' && first <= 'Z' {
		parameter = "api." + parameter
	}
	fmt.Fprintf(out, "func %s(value %s) EnqueueOption {\n\treturn func(r *api.CreateJobRequest) { r.%s = %s }\n}\n\n",
		function, parameter, function, value)
	return nil
}
