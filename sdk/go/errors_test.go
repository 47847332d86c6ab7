package steadfast

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"steadfast.example/steadfast/api"
)

type ownClass struct{}

func (ownClass) Error() string { return "own" }
func (ownClass) Class() string { return "Own" }

func TestAnErrorBecomesAnOutcome(t *testing.T) {
	plain := errors.New("no")
	for name, c := range map[string]struct {
		err        error
		class      string
		permanent  bool
		retryAfter time.Duration
	}{
		"plain":                   {plain, "error", false, 0},
		"wrapped":                 {fmt.Errorf("sending: %w", plain), "error", false, 0},
		"type":                    {fmt.Errorf("reading: %w", &fs.PathError{Err: plain}), "fs.PathError", false, 0},
		"joined":                  {errors.Join(plain, &fs.PathError{Err: plain}), "fs.PathError", false, 0},
		"class method":            {fmt.Errorf("x: %w", ownClass{}), "Own", false, 0},
		"given class":             {WithClass("Smtp", plain), "Smtp", false, 0},
		"class in any script":     {WithClass("Ошибка::漢字", plain), "Ошибка::漢字", false, 0},
		"outer class wins":        {WithClass("Outer", WithClass("Inner", plain)), "Outer", false, 0},
		"permanent":               {Permanent(plain), "validation", true, 0},
		"permanent over a class":  {Permanent(WithClass("Smtp", plain)), "Smtp", true, 0},
		"permanent over a type":   {Permanent(fmt.Errorf("x: %w", ownClass{})), "Own", true, 0},
		"permanent class stays":   {Permanent(WithClass("not_found", plain)), "not_found", true, 0},
		"permanent, deep, class":  {WithClass("Smtp", Permanent(plain)), "Smtp", true, 0},
		"permanent, joined":       {errors.Join(RetryAfter(plain, time.Second), Permanent(plain)), "validation", true, time.Second},
		"retry after":             {RetryAfter(WithClass("Busy", plain), time.Minute), "Busy", false, time.Minute},
		"retry after, wrapped":    {fmt.Errorf("x: %w", RetryAfter(plain, time.Second)), "error", false, time.Second},
		"payload":                 {&payloadError{"k", plain}, "payload", false, 0},
		"payload class permanent": {Permanent(&payloadError{"k", plain}), "payload", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := OutcomeOf(c.err)
			if outcome.Verb != Fail || outcome.Failure.Class != c.class || outcome.Failure.Permanent != c.permanent || outcome.Failure.RetryAfter != c.retryAfter {
				t.Errorf("%+v", outcome.Failure)
			}
			if outcome.Failure.Message != c.err.Error() || outcome.Failure.Trace == "" {
				t.Errorf("message %q, trace %q", outcome.Failure.Message, outcome.Failure.Trace)
			}
		})
	}
}

func TestASnoozeIsNotAFailure(t *testing.T) {
	outcome := OutcomeOf(fmt.Errorf("later: %w", Snooze(time.Minute)))
	if outcome.Verb != Snoozed || outcome.Delay != time.Minute || outcome.Failure != nil {
		t.Errorf("%+v", outcome)
	}
}

func TestNoErrorStaysNone(t *testing.T) {
	for _, err := range []error{Permanent(nil), RetryAfter(nil, 1), WithClass("x", nil)} {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
}

type pair struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

func (pair) Kind() string { return "pair" }

func (p *pair) Validate() error {
	if p.Count < 0 {
		return errors.New("count is negative")
	}
	return nil
}

// badResult and nilError panic where a program does not expect it.
type badResult struct{}

func (badResult) MarshalJSON() ([]byte, error) { panic("no JSON") }

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestHandlersFoldEverythingIntoAnOutcome(t *testing.T) {
	handlers := NewHandlers()
	HandleWithResult(handlers, func(_ context.Context, job *Job[pair]) (any, error) {
		switch job.Payload.Name {
		case "panic":
			panic("broken")
		case "bad result":
			return func() {}, nil
		case "bad method":
			return badResult{}, nil
		case "nil error":
			var none *nilError
			return nil, none
		}
		return job.Payload.Count, nil
	})
	for payload, want := range map[string]string{
		`{"name": "a", "count": 3}`:          "succeed 3",
		`{"name": "a", "count": "3"}`:        "fail payload",
		`{"name": "a", "count": -1}`:         "fail payload",
		`null`:                               "fail payload",
		``:                                   "fail payload",
		`"text"`:                             "fail payload",
		`{"name": "panic", "count": 0}`:      "fail panic",
		`{"name": "bad result", "count": 0}`: "fail result",
		`{"name": "bad method", "count": 0}`: "fail panic",
		`{"name": "nil error", "count": 0}`:  "fail panic",
	} {
		outcome := handlers.Execute(context.Background(), &api.Job{Kind: "pair", Payload: []byte(payload)}, nil)
		got := string(outcome.Verb) + " " + string(outcome.Result)
		if outcome.Failure != nil {
			got += outcome.Failure.Class
		}
		if got != want {
			t.Errorf("%s: %s instead of %s", payload, got, want)
		}
		if want == "fail panic" && !strings.Contains(outcome.Failure.Trace, "errors_test.go") {
			t.Errorf("the trace does not lead to the panic: %s", outcome.Failure.Trace)
		}
	}
}

func TestAKindHasOneHandler(t *testing.T) {
	handlers := NewHandlers()
	run := func(context.Context, *Job[pair]) error { return nil }
	Handle(handlers, run)
	defer func() {
		if recover() == nil {
			t.Error("a second handler was accepted")
		}
	}()
	Handle(handlers, run)
}

func TestALongTextIsCutInTheMiddle(t *testing.T) {
	text := shorten("begin " + strings.Repeat("é", textBytesMax) + " end")
	if len(text) > textBytesMax || !strings.HasPrefix(text, "begin é") || !strings.HasSuffix(text, "é end") || !utf8.ValidString(text) {
		t.Errorf("%d bytes", len(text))
	}
}
