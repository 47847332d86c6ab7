package api

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDurationsAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`1500`: 1500 * time.Millisecond, `"30s"`: 30 * time.Second, `"1h30m"`: 90 * time.Minute,
		`"7d"`: 7 * 24 * time.Hour, `"1d12h"`: 36 * time.Hour, `"250ms"`: 250 * time.Millisecond, `"5us"`: 5 * time.Microsecond,
	} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(d), err)
		}
		written, err := json.Marshal(d)
		var again Duration
		if err != nil || json.Unmarshal(written, &again) != nil || again != d {
			t.Errorf("%s was written as %s", text, written)
		}
	}
	for _, text := range []string{`""`, `"d"`, `"soon"`, `1.5`, `"xd"`} {
		var d Duration
		if json.Unmarshal([]byte(text), &d) == nil {
			t.Errorf("%s was read as %v", text, time.Duration(d))
		}
	}
	if _, err := json.Marshal(Duration(-1)); err == nil {
		t.Error("a negative duration was written")
	}
}

func TestARequestLeavesOutWhatIsNotSet(t *testing.T) {
	text, err := json.Marshal(CreateJobRequest{Kind: "a", MaxRetries: Ptr(0), Retry: PresetOnce, Delay: Ptr(Duration(time.Second))})
	if want := `{"delay":1000,"kind":"a","maxRetries":0,"retry":"once"}`; err != nil || string(text) != want {
		t.Errorf("%s instead of %s (%v)", text, want, err)
	}
}
