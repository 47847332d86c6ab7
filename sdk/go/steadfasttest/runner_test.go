package steadfasttest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
	"steadfast.example/steadfast/steadfasttest"
)

type visit struct {
	Fails     int  `json:"fails"`
	Permanent bool `json:"permanent"`
}

func (visit) Kind() string { return "visit" }

func newRunner() *steadfasttest.Runner {
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(_ context.Context, job *steadfast.Job[visit]) error {
		job.Report(job.Attempt*10, "knocked")
		switch {
		case job.Payload.Permanent:
			return steadfast.Permanent(errors.New("moved away"))
		case job.Attempt <= job.Payload.Fails:
			return errors.New("not at home")
		}
		return nil
	})
	return steadfasttest.NewRunner(handlers)
}

func TestJobsEndAsTheirOutcomesSay(t *testing.T) {
	for name, c := range map[string]struct {
		payload  visit
		options  []steadfast.EnqueueOption
		label    api.JobLabel
		reason   api.EndReason
		attempts int
	}{
		"at once":      {visit{}, nil, api.JobLabelSucceeded, "", 1},
		"second try":   {visit{Fails: 1}, nil, api.JobLabelSucceeded, "", 2},
		"exhausted":    {visit{Fails: 9}, nil, api.JobLabelFailed, api.EndReasonExhausted, 4},
		"no retries":   {visit{Fails: 9}, []steadfast.EnqueueOption{steadfast.MaxRetries(0)}, api.JobLabelFailed, api.EndReasonExhausted, 1},
		"permanent":    {visit{Permanent: true}, nil, api.JobLabelFailed, api.EndReasonNonRetryable, 1},
		"at most once": {visit{Fails: 9}, []steadfast.EnqueueOption{steadfast.AtMostOnce()}, api.JobLabelFailed, api.EndReasonAtMostOnce, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runner := newRunner()
			job, err := runner.Enqueue(c.payload, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			runner.RunAll(context.Background())
			if job.Label != c.label || job.Reason != c.reason || len(job.Outcomes) != c.attempts || job.Percent != c.attempts*10 {
				t.Errorf("%s (%s) after %d attempts, %d %%", job.Label, job.Reason, len(job.Outcomes), job.Percent)
			}
		})
	}
}

func TestNothingRunsBeforeItsTime(t *testing.T) {
	runner := newRunner()
	later, err := runner.Enqueue(visit{Fails: 1}, steadfast.Delay(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, want := range []struct {
		advance  time.Duration
		attempts int
	}{{0, 0}, {59 * time.Second, 0}, {time.Second, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}} {
		runner.Advance(want.advance)
		runner.Run(ctx)
		if len(later.Outcomes) != want.attempts {
			t.Fatalf("after %v more: %d attempts instead of %d", want.advance, len(later.Outcomes), want.attempts)
		}
	}
}

func TestOptionsThatARunnerDoesNotPlayAreRefused(t *testing.T) {
	for name, option := range map[string]steadfast.EnqueueOption{
		"Unique":      steadfast.Unique(api.Unique{Key: "one"}),
		"After":       steadfast.After("job_1"),
		"Batch":       steadfast.Batch("bat_1"),
		"Debounce":    steadfast.Debounce(time.Second),
		"StartBefore": steadfast.StartWithin(time.Hour),
		"RetryDelay":  steadfast.RetryDelay(time.Second),
	} {
		runner := newRunner()
		if _, err := runner.Enqueue(visit{}, option); err == nil || !strings.Contains(err.Error(), "does not play "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if len(runner.Jobs()) != 0 {
			t.Errorf("%s: a job was created", name)
		}
	}
}

func TestRetryPoliciesArePlayed(t *testing.T) {
	second := api.Ptr(api.Duration(time.Second))
	rule := func(match, then any) api.RetryRule { return api.RetryRule{Match: match, Then: then} }
	for name, c := range map[string]struct {
		policy   api.RetryPolicyInput
		reason   api.EndReason
		attempts int
		elapsed  time.Duration
	}{
		"once":        {api.PresetOnce, api.EndReasonExhausted, 1, 0},
		"aggressive":  {api.PresetAggressive, api.EndReasonExhausted, 3, 300 * time.Millisecond},
		"webhook":     {api.PresetWebhook, api.EndReasonExhausted, 4, 210 * time.Second},
		"linear":      {api.RetryPolicyFields{MaxAttempts: api.Ptr(4), Backoff: api.BackoffLinear, BaseDelay: second}, api.EndReasonExhausted, 4, 6 * time.Second},
		"fibonacci":   {api.RetryPolicyFields{MaxRetries: api.Ptr(4), Backoff: api.BackoffFibonacci, BaseDelay: second}, api.EndReasonExhausted, 5, 7 * time.Second},
		"max elapsed": {api.RetryPolicyFields{MaxRetries: api.Ptr(9), Backoff: api.BackoffFixed, BaseDelay: second, MaxElapsed: second}, api.EndReasonExpired, 3, 2 * time.Second},
		"fail by class": {api.RetryPolicyFields{Rules: []api.RetryRule{
			rule(map[string]any{"class": []string{"other"}}, map[string]any{"retry": "1s"}),
			rule(map[string]any{"class": "smtp", "status": "5xx", "message": "*home"}, "fail"),
		}}, api.EndReasonRule, 1, 0},
		"retry by status": {api.RetryPolicyFields{MaxRetries: api.Ptr(1), Rules: []api.RetryRule{
			rule(map[string]any{"status": []any{404, "500-503"}}, map[string]any{"retry": "7s"}),
		}}, api.EndReasonExhausted, 2, 7 * time.Second},
		"any": {api.RetryPolicyFields{Rules: []api.RetryRule{rule("any", "fail")}}, api.EndReasonRule, 1, 0},
	} {
		handlers := steadfast.NewHandlers()
		steadfast.Handle(handlers, func(context.Context, *steadfast.Job[visit]) error {
			return steadfast.WithHTTPStatus(503, steadfast.WithClass("smtp", errors.New("not at home")))
		})
		runner := steadfasttest.NewRunner(handlers)
		begun := runner.Now()
		job, err := runner.Enqueue(visit{}, steadfast.Retry(c.policy))
		if err != nil {
			t.Fatal(name, err)
		}
		runner.RunAll(context.Background())
		if elapsed := runner.Now().Sub(begun); job.Reason != c.reason || job.Attempt != c.attempts || elapsed != c.elapsed {
			t.Errorf("%s: %s after %d attempts and %v", name, job.Reason, job.Attempt, elapsed)
		}
	}
}

func TestKeysAndPrioritiesArePlayed(t *testing.T) {
	runner := newRunner()
	first, err := runner.Enqueue(visit{}, steadfast.IdempotencyKey("one"), steadfast.Priority(1))
	if err != nil {
		t.Fatal(err)
	}
	again, err := runner.Enqueue(visit{}, steadfast.IdempotencyKey("one"))
	if err != nil || again != first || len(runner.Jobs()) != 1 {
		t.Errorf("%v, %d jobs", err, len(runner.Jobs()))
	}
	var order []int
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(_ context.Context, job *steadfast.Job[visit]) error {
		order = append(order, job.Priority)
		return nil
	})
	runner = steadfasttest.NewRunner(handlers)
	for _, priority := range []int{3, 9, 5} {
		if _, err := runner.Enqueue(visit{}, steadfast.Priority(priority)); err != nil {
			t.Fatal(err)
		}
	}
	runner.Run(context.Background())
	if !slices.Equal(order, []int{9, 5, 3}) {
		t.Errorf("%v", order)
	}
}

type stranger struct{}

func (stranger) Kind() string { return "stranger" }

func TestAJobOfAnotherKindWaits(t *testing.T) {
	runner := newRunner()
	job, err := runner.Enqueue(stranger{})
	if err != nil {
		t.Fatal(err)
	}
	runner.RunAll(context.Background())
	if job.Label != api.JobLabelReady || job.Attempt != 0 {
		t.Errorf("%s after %d attempts", job.Label, job.Attempt)
	}
}

func TestATimeoutIsPlayed(t *testing.T) {
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(ctx context.Context, _ *steadfast.Job[visit]) error {
		<-ctx.Done()
		return ctx.Err()
	})
	runner := steadfasttest.NewRunner(handlers)
	job, err := runner.Enqueue(visit{}, steadfast.Timeout(time.Millisecond), steadfast.MaxRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	runner.Run(context.Background())
	if job.Failure == nil || job.Failure.Class != "timeout" || job.Label != api.JobLabelFailed {
		t.Errorf("%s: %+v", job.Label, job.Failure)
	}
}

func TestAHandlerMayLogFromSeveralGoroutines(t *testing.T) {
	const goroutines, lines = 8, 2000
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(_ context.Context, job *steadfast.Job[visit]) error {
		var group sync.WaitGroup
		for range goroutines {
			group.Add(1)
			go func() {
				defer group.Done()
				for range lines {
					job.Log(slog.LevelInfo, "line")
					job.Report(50, "half")
				}
			}()
		}
		group.Wait()
		return nil
	})
	runner := steadfasttest.NewRunner(handlers)
	job, err := runner.Enqueue(visit{})
	if err != nil {
		t.Fatal(err)
	}
	runner.Run(context.Background())
	if len(job.Logged) != goroutines*lines {
		t.Errorf("%d of %d lines are kept", len(job.Logged), goroutines*lines)
	}
}
