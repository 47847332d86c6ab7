package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPackageAPIIsUpToDate(t *testing.T) {
	files, err := generate("../../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../../api", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("api/%s differs from docs/openapi.json: run go generate ./... (%v)", name, err)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"nextCursor": "NextCursor", "id": "ID", "jobId": "JobID", "ids": "IDs", "AT_MOST_ONCE": "AtMostOnce",
		"job.succeeded": "JobSucceeded", "retry_rate": "RetryRate", "HttpTarget": "HTTPTarget", "leaseMs": "LeaseMs",
	} {
		if got := goName(name); got != want {
			t.Errorf("%s: %s instead of %s", name, got, want)
		}
	}
}

// Every field of a request is an option, or says what the job does or when a schedule creates it.
func TestEveryOptionOfTheAPIHasAFunction(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := readDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range []string{"../../options.go", "../../enqueue.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for name := range d.Components.Schemas["CreateJobRequest"].Properties {
		isOption := strings.Contains(source.String(), "\nfunc "+goName(name)+"(")
		if isOption == slices.Contains(notOptions, name) {
			t.Errorf("%s: option %v", name, isOption)
		}
	}
}
