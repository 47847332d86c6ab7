package steadfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"steadfast.example/steadfast/api"
)

// Job is a job that is being run: its record, and its payload.
type Job[P Payload] struct {
	*api.Job
	Payload P
	attempt *attempt
}

// Report sets the progress in percent, from 0 to 100, and a short note. It
// returns at once and is sent with the next heartbeat; only the newest report counts.
func (j *Job[P]) Report(percent int, note string) {
	j.attempt.store.Report(min(max(percent, 0), 100), note)
}

// Usage reports what this attempt has used, by unit: Usage(map[string]float64{"tokens": 2210}). Gates
// with rates in these units give back or charge the difference to the cost of the job when the attempt
// ends, whatever its outcome. The last report counts. Without one, the cost is charged.
func (j *Job[P]) Usage(used map[string]float64) {
	j.attempt.mutex.Lock()
	defer j.attempt.mutex.Unlock()
	j.attempt.usage = maps.Clone(used)
}

// OnSuccess creates a job if and only if this attempt succeeds, in the same transaction. There may
// be 100 of them.
func (j *Job[P]) OnSuccess(payload Payload, options ...EnqueueOption) error {
	request, err := NewJob(payload, options...)
	if err != nil {
		return err
	}
	j.attempt.mutex.Lock()
	defer j.attempt.mutex.Unlock()
	j.attempt.onSuccess = append(j.attempt.onSuccess, request)
	return nil
}

// Once runs a step of a job once, however many attempts there are: its result is stored, and a
// later attempt gets it without running the step again. Names are unique within a job. While the
// server is away, Once waits for it for as long as the attempt may go on. If the process dies between
// the end of the step and the storing of its result, the step runs again.
func Once[V any](ctx context.Context, name string, step func(ctx context.Context) (V, error)) (V, error) {
	var value V
	a := attemptFrom(ctx)
	if a == nil {
		return value, fmt.Errorf("step %s: the context is not that of a handler", name)
	}
	stored, ok, err := a.store.LoadStep(ctx, name)
	if err != nil {
		return value, fmt.Errorf("failed to load step %s: %w", name, err)
	}
	if !ok {
		value, err = step(ctx)
		if err != nil {
			return value, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return value, fmt.Errorf("the result of step %s is not JSON: %w", name, err)
		}
		if stored, err = a.store.StoreStep(ctx, name, text); err != nil {
			return value, fmt.Errorf("failed to store step %s: %w", name, err)
		}
	}
	var result V
	if err := json.Unmarshal(stored, &result); err != nil {
		return result, fmt.Errorf("the stored result of step %s does not fit: %w", name, err)
	}
	return result, nil
}

// Prerequisites returns the jobs that the job of a handler has waited for (after), in the order of their
// ids, with their results.
func Prerequisites(ctx context.Context) ([]api.PrerequisiteResult, error) {
	a := attemptFrom(ctx)
	if a == nil {
		return nil, errors.New("the context is not that of a handler")
	}
	return a.store.Prerequisites(ctx)
}

type stoppingKey struct{}

// Stopping returns a channel that is closed when the worker of a handler begins to stop. The context
// of the handler ends later, when the grace is over; until then, the handler can save its work.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(chan struct{})
	return stopping
}

// AttemptStore is where a running attempt keeps its steps and reports: the server, or a test.
type AttemptStore interface {
	// LoadStep returns the result of a step, and whether there is one.
	LoadStep(ctx context.Context, name string) (json.RawMessage, bool, error)
	// StoreStep stores the result of a step unless there is one, and returns the stored one.
	StoreStep(ctx context.Context, name string, result json.RawMessage) (json.RawMessage, error)
	// Prerequisites returns the jobs that the job has waited for, with their results.
	Prerequisites(ctx context.Context) ([]api.PrerequisiteResult, error)
	// Report keeps the newest progress and note.
	Report(percent int, note string)
	// Log adds a line to the log of the attempt.
	Log(line api.LogLine)
}

// attempt is what handler and library share while an attempt runs.
type attempt struct {
	store     AttemptStore
	mutex     sync.Mutex
	onSuccess []api.CreateJobRequest
	usage     map[string]float64
}

type attemptKey struct{}

func attemptFrom(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

func (a *attempt) takeUsage() map[string]float64 {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.usage
}

func (a *attempt) takeOnSuccess() []api.CreateJobRequest {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.onSuccess
}
