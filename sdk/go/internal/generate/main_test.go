package main

import (
	"bytes"
	"os"
	"path/filepath"
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
