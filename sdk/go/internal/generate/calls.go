package main

import (
	"fmt"
	"go/format"
	"strings"
)

// Calls that are written by hand: their answer is not one JSON type.
var notGenerated = map[string]bool{"createJob": true, "streamEvents": true}

func writeCalls(d *document) ([]byte, error) {
	var out strings.Builder
	for _, path := range sortedNames(d.Paths) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			o, ok := d.Paths[path][method]
			if !ok || notGenerated[o.OperationID] {
				continue
			}
			if err := writeCall(&out, d, method, path, o); err != nil {
				return nil, fmt.Errorf("%s: %w", o.OperationID, err)
			}
		}
	}
	imports := "import (\n\t\"context\"\n\t\"iter\"\n\t\"net/url\"\n\t\"strconv\"\n\t\"time\"\n)\n\n"
	return format.Source([]byte(header + imports + out.String()))
}

func writeCall(out *strings.Builder, d *document, method, path string, o operation) error {
	name := goName(o.OperationID)
	call := callParts{
		name:      name,
		arguments: []string{"ctx context.Context"},
		path:      fmt.Sprintf("%q", strings.TrimPrefix(path, "/api/v1")),
		query:     "nil",
		body:      "nil",
	}
	if err := call.addParameters(out, d, o); err != nil {
		return err
	}
	if body, ok := o.RequestBody.Content["application/json"]; ok {
		inner, _ := body.Schema.withoutNull()
		call.arguments = append(call.arguments, "request "+goName(inner.refName()))
		call.body = "request"
	}
	call.answer = answerOf(o)
	comment(out, "", name, o.Summary)
	call.write(out, strings.ToUpper(method))
	if strings.HasPrefix(name, "List") && call.query != "nil" {
		call.writeIterator(out, d)
	}
	return nil
}

// callParts is what a method of the client is made of.
type callParts struct {
	name, path, query, body, answer string
	arguments                       []string
}

func (c *callParts) addParameters(out *strings.Builder, d *document, o operation) error {
	var query []parameter
	for _, p := range o.Parameters {
		switch p.In {
		case "path":
			goType, err := typeOf(d, p.Schema, false)
			if err != nil {
				return err
			}
			text := "url.PathEscape(string(" + p.Name + "))"
			switch goType {
			case "string":
				text = "url.PathEscape(" + p.Name + ")"
			case "int":
				text = "strconv.Itoa(" + p.Name + ")"
			}
			c.arguments = append(c.arguments, p.Name+" "+goType)
			c.path = strings.ReplaceAll(c.path, "{"+p.Name+"}", `" + `+text+` + "`)
			c.path = strings.TrimSuffix(c.path, ` + ""`)
		case "query":
			query = append(query, p)
		}
	}
	if len(query) == 0 {
		return nil
	}
	c.query = "params.values()"
	c.arguments = append(c.arguments, "params "+c.name+"Params")
	return writeParams(out, d, c.name, query)
}

// writeParams writes the query of a call as a struct; what is left empty is not sent.
func writeParams(out *strings.Builder, d *document, name string, query []parameter) error {
	fmt.Fprintf(out, "// %sParams is the query of [Client.%s]; what is left empty is not sent.\ntype %sParams struct {\n", name, name, name)
	var values strings.Builder
	for _, p := range query {
		inner, _ := p.Schema.withoutNull()
		goType, err := typeOf(d, inner, false)
		if err != nil {
			return err
		}
		comment(out, "\t", "", p.Description)
		field := goName(p.Name)
		fmt.Fprintf(out, "\t%s %s\n", field, goType)
		switch goType {
		case "time.Time":
			fmt.Fprintf(&values, "\taddTime(v, %q, p.%s)\n", p.Name, field)
		case "int":
			fmt.Fprintf(&values, "\taddInt(v, %q, p.%s)\n", p.Name, field)
		case "bool":
			fmt.Fprintf(&values, "\taddBool(v, %q, p.%s)\n", p.Name, field)
		case "[]string":
			fmt.Fprintf(&values, "\taddTexts(v, %q, p.%s)\n", p.Name, field)
		default:
			fmt.Fprintf(&values, "\taddText(v, %q, string(p.%s))\n", p.Name, field)
		}
	}
	fmt.Fprintf(out, "}\n\nfunc (p %sParams) values() url.Values {\n\tv := url.Values{}\n%s\treturn v\n}\n\n", name, values.String())
	return nil
}

func answerOf(o operation) string {
	for _, status := range []string{"200", "201"} {
		if content, ok := o.Responses[status].Content["application/json"]; ok {
			return goName(content.Schema.refName())
		}
	}
	return ""
}

func (c *callParts) write(out *strings.Builder, method string) {
	arguments := strings.Join(c.arguments, ", ")
	if c.answer == "" {
		fmt.Fprintf(out, "func (c *Client) %s(%s) error {\n\treturn c.Call(ctx, %q, %s, %s, %s, nil)\n}\n\n",
			c.name, arguments, method, c.path, c.query, c.body)
		return
	}
	fmt.Fprintf(out, "func (c *Client) %s(%s) (*%s, error) {\n\tanswer := new(%s)\n\terr := c.Call(ctx, %q, %s, %s, %s, answer)\n\treturn answer, err\n}\n\n",
		c.name, arguments, c.answer, c.answer, method, c.path, c.query, c.body)
}

// writeIterator adds a call that goes through all pages of a list.
func (c *callParts) writeIterator(out *strings.Builder, d *document) {
	list := d.Components.Schemas[c.answer]
	if _, ok := list.Properties["nextCursor"]; !ok {
		return
	}
	for _, name := range sortedNames(list.Properties) {
		property := list.Properties[name]
		if property.kind() != "array" || property.Items.Ref == "" || goName(name) == "Upcoming" {
			continue
		}
		item := goName(property.Items.refName())
		all := "All" + strings.TrimPrefix(c.name, "List")
		var names []string
		for _, argument := range c.arguments {
			names = append(names, strings.Fields(argument)[0])
		}
		fmt.Fprintf(out, "// %s is every item of [Client.%s], page by page.\nfunc (c *Client) %s(%s) iter.Seq2[%s, error] {\n",
			all, c.name, all, strings.Join(c.arguments, ", "), item)
		fmt.Fprintf(out, "\treturn pages(func(after string) ([]%s, string, error) {\n\t\tif after != \"\" {\n\t\t\tparams.After = after\n\t\t}\n\t\tpage, err := c.%s(%s)\n\t\treturn page.%s, page.NextCursor, err\n\t})\n}\n\n",
			item, c.name, strings.Join(names, ", "), goName(name))
		return
	}
}
