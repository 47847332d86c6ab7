// Package steadfasttest runs handlers in tests: in process with a clock that only the test moves
// ([NewRunner]), and with a real server on a manual clock ([StartServer]).
package steadfasttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

// Runner runs jobs in process, without a server. Jobs wait until the test calls [Runner.Run].
//
// A job with a retry policy is retried as the policy says, but without jitter. Any other job is due
// again after RetryDelay, until it has had MaxRetries retries. A timeout ends the context of a handler
// in real time. Options that the runner does not play, such as Unique and After, are refused: use a
// server for them ([StartServer]).
type Runner struct {
	// RetryDelay between attempts; one second.
	RetryDelay time.Duration
	// MaxRetries of jobs that are enqueued without a number of their own; 3.
	MaxRetries int

	handlers *steadfast.Handlers
	now      time.Time
	jobs     []*Job
}

// Job is a job of a [Runner] in its current state.
type Job struct {
	api.Job
	// Outcomes of its attempts.
	Outcomes []steadfast.Outcome
	// Percent and Note of the newest report.
	Percent int
	Note    string
	// Logged has what all attempts logged.
	Logged []api.LogLine

	// for handlers that report and log from several goroutines
	mutex          sync.Mutex
	steps          map[string]json.RawMessage
	policy         policy
	idempotencyKey string
	firstStarted   time.Time
	timeout        time.Duration
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
	return r.create(request)
}

func (r *Runner) create(request api.CreateJobRequest) (*Job, error) {
	if err := checkPlayed(request); err != nil {
		return nil, err
	}
	for _, job := range r.jobs {
		if request.IdempotencyKey != "" && job.idempotencyKey == request.IdempotencyKey {
			return job, nil
		}
	}
	fallback := policy{MaxRetries: &r.MaxRetries, Backoff: api.BackoffFixed, BaseDelay: api.Ptr(api.Duration(r.RetryDelay))}
	completed, err := newPolicy(request, fallback)
	if err != nil {
		return nil, fmt.Errorf("the retry policy of %s: %w", request.Kind, err)
	}
	job := &Job{steps: map[string]json.RawMessage{}, policy: completed, idempotencyKey: request.IdempotencyKey}
	job.ID = fmt.Sprintf("job_%d", len(r.jobs)+1)
	job.Kind, job.Payload, job.Queue, job.Tags = request.Kind, request.Payload, request.Queue, request.Tags
	job.Label, job.Type, job.CreatedAt = api.JobLabelReady, request.Type, r.now
	job.RunAt, job.MaxRetries, job.Priority = r.now, *completed.MaxRetries, defaultPriority
	if request.Timeout != nil {
		job.timeout = time.Duration(*request.Timeout)
	}
	if request.Priority != nil {
		job.Priority = *request.Priority
	}
	if request.Delay != nil {
		job.RunAt = r.now.Add(time.Duration(*request.Delay))
	}
	if !request.RunAt.IsZero() {
		job.RunAt = request.RunAt
	}
	r.jobs = append(r.jobs, job)
	return job, nil
}

const defaultPriority = 5

// checkPlayed refuses options whose effect a runner does not have. Those that have none without
// gates, other tenants, leases and webhooks are accepted.
func checkPlayed(request api.CreateJobRequest) error {
	for name, isGiven := range map[string]bool{
		"After": len(request.After) > 0, "Batch": request.Batch != "", "Unique": request.Unique != nil,
		"Debounce": request.Debounce != nil, "DebounceMax": request.DebounceMax != nil,
		"StartBefore": request.StartBefore != "", "OnExpiry": request.OnExpiry != "", "OnFailure": request.OnFailure != "",
		"RetryDelay": request.RetryDelay != nil, "UseExponentialBackoff": request.UseExponentialBackoff != nil,
		"Like": request.Like != "", "Schedule": request.Schedule != "", "HTTP": request.HTTP != nil, "API": request.API != "",
	} {
		if isGiven {
			return fmt.Errorf("a Runner does not play %s: use steadfasttest.StartServer", name)
		}
	}
	return nil
}

// Jobs are all jobs, those made on success included.
func (r *Runner) Jobs() []*Job { return slices.Clone(r.jobs) }

// Now is the time of the runner.
func (r *Runner) Now() time.Time { return r.now }

// Advance moves the clock. It runs nothing.
func (r *Runner) Advance(by time.Duration) { r.now = r.now.Add(by) }

// Run runs everything that is due, by priority and then in the order in which it became due, until
// nothing is. Jobs of kinds without a handler wait, as for another worker.
func (r *Runner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var next *Job
		for _, job := range r.jobs {
			if r.waits(job) && !job.RunAt.After(r.now) && (next == nil || isBefore(job, next)) {
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
			if r.waits(job) && (next.IsZero() || job.RunAt.Before(next)) {
				next = job.RunAt
			}
		}
		if next.IsZero() || ctx.Err() != nil {
			return
		}
		r.now = next
	}
}

func (r *Runner) waits(job *Job) bool {
	isWaiting := job.Label == api.JobLabelReady || job.Label == api.JobLabelRetrying
	return isWaiting && slices.Contains(r.handlers.Kinds(), job.Kind)
}

func isBefore(a, b *Job) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return a.RunAt.Before(b.RunAt)
}

func (r *Runner) attempt(ctx context.Context, job *Job) {
	job.Attempt++
	job.RetryCount = job.Attempt - 1
	if job.firstStarted.IsZero() {
		job.firstStarted = r.now
	}
	job.Label = api.JobLabelRunning
	record := job.Job
	if job.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, job.timeout, steadfast.ErrTimeout)
		defer cancel()
	}
	outcome := r.handlers.Execute(ctx, &record, job)
	if outcome.Failure != nil && errors.Is(context.Cause(ctx), steadfast.ErrTimeout) {
		outcome.Failure = &steadfast.Failure{Class: "timeout", Message: outcome.Failure.Message, Trace: outcome.Failure.Trace}
	}
	job.Outcomes = append(job.Outcomes, outcome)
	switch outcome.Verb {
	case steadfast.Succeed:
		job.Label = api.JobLabelSucceeded
		for _, request := range outcome.OnSuccess {
			if _, err := r.create(request); err != nil {
				// The server would refuse the outcome, too.
				r.fail(job, &steadfast.Failure{Class: "result", Message: err.Error(), Permanent: true})
			}
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
	if job.Type == api.GuaranteeAtMostOnce {
		job.Label, job.Reason = api.JobLabelFailed, api.EndReasonAtMostOnce
		return
	}
	delay, reason := job.policy.decide(failure, job.RetryCount, r.now.Sub(job.firstStarted))
	if reason != "" {
		job.Label, job.Reason = api.JobLabelFailed, reason
		return
	}
	job.Label, job.RunAt = api.JobLabelRetrying, r.now.Add(delay)
}

// LoadStep is part of [steadfast.AttemptStore].
func (j *Job) LoadStep(_ context.Context, name string) (json.RawMessage, bool, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	result, ok := j.steps[name]
	return result, ok, nil
}

// StoreStep is part of [steadfast.AttemptStore].
func (j *Job) StoreStep(_ context.Context, name string, result json.RawMessage) (json.RawMessage, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if stored, ok := j.steps[name]; ok {
		return stored, nil
	}
	j.steps[name] = result
	return result, nil
}

// Prerequisites is part of [steadfast.AttemptStore]. There are none: the runner refuses jobs that run
// after others.
func (j *Job) Prerequisites(context.Context) ([]api.PrerequisiteResult, error) { return nil, nil }

// Report is part of [steadfast.AttemptStore].
func (j *Job) Report(percent int, note string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.Percent, j.Note = percent, note
}

// Log adds a line to [Job.Logged].
func (j *Job) Log(line api.LogLine) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.Logged = append(j.Logged, line)
}
