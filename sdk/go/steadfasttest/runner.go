// Package steadfasttest runs handlers in tests: in process with a clock that only the test moves
// ([NewRunner]), and with a real server on a manual clock ([StartServer]).
package steadfasttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

// Runner runs jobs in process, without a server. Jobs wait until the test calls [Runner.Run].
//
// It does not imitate retry policies: a failed job is due again after RetryDelay, until it has had
// MaxRetries retries. The real policies are those of a server: see [StartServer].
type Runner struct {
	// RetryDelay between attempts; one second.
	RetryDelay time.Duration
	// MaxRetries of jobs that are enqueued without a number of their own; 3.
	MaxRetries int

	handlers *steadfast.Handlers
	now      time.Time
	jobs     []*Job
}

// Job is a job of a [Runner], and what has become of it.
type Job struct {
	api.Job
	// Outcomes of its attempts.
	Outcomes []steadfast.Outcome
	// Percent and Note of the newest report.
	Percent int
	Note    string

	steps map[string]json.RawMessage
}

// NewRunner returns a runner of these handlers.
func NewRunner(handlers *steadfast.Handlers) *Runner {
	return &Runner{RetryDelay: time.Second, MaxRetries: 3, handlers: handlers, now: time.Unix(1_700_000_000, 0).UTC()}
}

// Enqueue adds a job.
func (r *Runner) Enqueue(payload steadfast.Payload, options ...steadfast.EnqueueOption) (*Job, error) {
	request, err := steadfast.NewJob(payload, options...)
	if err != nil {
		return nil, err
	}
	return r.create(request), nil
}

func (r *Runner) create(request api.CreateJobRequest) *Job {
	job := &Job{steps: map[string]json.RawMessage{}}
	job.ID = fmt.Sprintf("job_%d", len(r.jobs)+1)
	job.Kind, job.Payload, job.Queue, job.Tags = request.Kind, request.Payload, request.Queue, request.Tags
	job.Label, job.Type, job.CreatedAt = api.JobLabelReady, request.Type, r.now
	job.RunAt, job.MaxRetries = r.now, r.MaxRetries
	if request.MaxRetries != nil {
		job.MaxRetries = *request.MaxRetries
	}
	if request.Delay != nil {
		job.RunAt = r.now.Add(time.Duration(*request.Delay))
	}
	if !request.RunAt.IsZero() {
		job.RunAt = request.RunAt
	}
	r.jobs = append(r.jobs, job)
	return job
}

// Jobs are all jobs, those made on success included.
func (r *Runner) Jobs() []*Job { return slices.Clone(r.jobs) }

// Now is the time of the runner.
func (r *Runner) Now() time.Time { return r.now }

// Advance moves the clock. It runs nothing.
func (r *Runner) Advance(by time.Duration) { r.now = r.now.Add(by) }

// Run runs everything that is due, in the order in which it became due, until nothing is.
func (r *Runner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var next *Job
		for _, job := range r.jobs {
			waits := job.Label == api.JobLabelReady || job.Label == api.JobLabelRetrying
			if waits && !job.RunAt.After(r.now) && (next == nil || job.RunAt.Before(next.RunAt)) {
				next = job
			}
		}
		if next == nil {
			return
		}
		r.attempt(ctx, next)
	}
}

// RunAll runs everything to its end, advancing the clock from one due time to the next. A job that
// snoozes without end is run 1,000 times.
func (r *Runner) RunAll(ctx context.Context) {
	for range 1000 {
		r.Run(ctx)
		var next time.Time
		for _, job := range r.jobs {
			waits := job.Label == api.JobLabelReady || job.Label == api.JobLabelRetrying
			if waits && (next.IsZero() || job.RunAt.Before(next)) {
				next = job.RunAt
			}
		}
		if next.IsZero() || ctx.Err() != nil {
			return
		}
		r.now = next
	}
}

func (r *Runner) attempt(ctx context.Context, job *Job) {
	job.Attempt++
	job.RetryCount = job.Attempt - 1
	job.Label = api.JobLabelRunning
	record := job.Job
	outcome := r.handlers.Execute(ctx, &record, job)
	job.Outcomes = append(job.Outcomes, outcome)
	switch outcome.Verb {
	case steadfast.Succeed:
		job.Label = api.JobLabelSucceeded
		for _, request := range outcome.OnSuccess {
			r.create(request)
		}
	case steadfast.Snoozed:
		job.Attempt--
		job.Label, job.RunAt = api.JobLabelReady, r.now.Add(max(outcome.Delay, time.Millisecond))
	default:
		r.fail(job, outcome.Failure)
	}
}

func (r *Runner) fail(job *Job, failure *steadfast.Failure) {
	job.Failure = &api.Failure{Class: failure.Class, Message: failure.Message}
	switch {
	case failure.IsPermanent():
		job.Label, job.Reason = api.JobLabelFailed, api.EndReasonNonRetryable
	case job.Type == api.GuaranteeAtMostOnce:
		job.Label, job.Reason = api.JobLabelFailed, api.EndReasonAtMostOnce
	case job.Attempt > job.MaxRetries:
		job.Label, job.Reason = api.JobLabelFailed, api.EndReasonExhausted
	default:
		job.Label, job.RunAt = api.JobLabelRetrying, r.now.Add(max(r.RetryDelay, failure.RetryAfter))
	}
}

// LoadStep is part of [steadfast.AttemptStore].
func (j *Job) LoadStep(_ context.Context, name string) (json.RawMessage, bool, error) {
	result, ok := j.steps[name]
	return result, ok, nil
}

// StoreStep is part of [steadfast.AttemptStore].
func (j *Job) StoreStep(_ context.Context, name string, result json.RawMessage) (json.RawMessage, error) {
	if stored, ok := j.steps[name]; ok {
		return stored, nil
	}
	j.steps[name] = result
	return result, nil
}

// Report is part of [steadfast.AttemptStore].
func (j *Job) Report(percent int, note string) { j.Percent, j.Note = percent, note }
