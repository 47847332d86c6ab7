package steadfasttest_test

import (
	"context"
	"errors"
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
