package steadfast

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"steadfast.example/steadfast/api"
)

// Payload is the input of a job, as JSON, and its kind says which handler runs it. The
// kind is asked of the zero value too, so it must not depend on the fields.
type Payload interface {
	Kind() string
}

// PayloadWithOptions is a job with options of its own, which those of an [Client.Enqueue] override.
type PayloadWithOptions interface {
	Payload
	EnqueueOptions() []EnqueueOption
}

// EnqueueOption changes a job that is enqueued.
type EnqueueOption func(*api.CreateJobRequest)

// Queue puts the job into another queue than "default".
func Queue(name string) EnqueueOption { return func(r *api.CreateJobRequest) { r.Queue = name } }

// Delay runs the job no sooner than this long from now.
func Delay(delay time.Duration) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Delay = api.Ptr(api.Duration(delay)) }
}

// RunAt runs the job no sooner than at this time.
func RunAt(at time.Time) EnqueueOption { return func(r *api.CreateJobRequest) { r.RunAt = at } }

// Priority is 0 to 9, higher first; 5 by default.
func Priority(priority int) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Priority = &priority }
}

// Retry sets the retry policy: a preset such as [api.PresetPatient], or [api.RetryPolicyFields].
func Retry(policy api.RetryPolicyInput) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Retry = policy }
}

// MaxRetries sets how many retries there are after the first attempt.
func MaxRetries(count int) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.MaxRetries = &count }
}

// Timeout bounds each attempt.
func Timeout(timeout time.Duration) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Timeout = api.Ptr(api.Duration(timeout)) }
}

// AtMostOnce starts the job at most once, whatever happens.
func AtMostOnce() EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Type = api.GuaranteeAtMostOnce }
}

// IdempotencyKey makes one job of any number of enqueues with the same key. It also makes an enqueue
// safe to repeat, which the client does if the server cannot be reached.
func IdempotencyKey(key string) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.IdempotencyKey = key }
}

// ConcurrencyKey names what is limited together by a gate, such as the id of a customer.
func ConcurrencyKey(key string) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.ConcurrencyKey = key }
}

// Destination is the system that the handler calls, as an origin: gates and its health go by it.
func Destination(origin string) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Destination = origin }
}

// Tag adds a name and a value to find the job by.
func Tag(name, value string) EnqueueOption {
	return func(r *api.CreateJobRequest) {
		if r.Tags == nil {
			r.Tags = map[string]string{}
		}
		r.Tags[name] = value
	}
}

// With changes any field of the request, for what has no option of its own.
func With(change func(*api.CreateJobRequest)) EnqueueOption { return change }

// NewJob returns the request that enqueues a job, for [Client.EnqueueMany] and for schedules.
func NewJob(payload Payload, options ...EnqueueOption) (api.CreateJobRequest, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return api.CreateJobRequest{}, fmt.Errorf("failed to write the payload of %s: %w", payload.Kind(), err)
	}
	request := api.CreateJobRequest{Kind: payload.Kind(), Payload: text}
	if own, ok := payload.(PayloadWithOptions); ok {
		options = append(own.EnqueueOptions(), options...)
	}
	for _, option := range options {
		option(&request)
	}
	return request, nil
}

// Enqueue creates a job.
func (c *Client) Enqueue(ctx context.Context, payload Payload, options ...EnqueueOption) (*api.Job, error) {
	request, err := NewJob(payload, options...)
	if err != nil {
		return nil, err
	}
	job, err := c.CreateJob(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("failed to enqueue %s: %w", payload.Kind(), err)
	}
	return job, nil
}

// EnqueueMany creates up to 1,000 jobs, all or none.
func (c *Client) EnqueueMany(ctx context.Context, jobs ...api.CreateJobRequest) ([]api.Job, error) {
	return c.CreateJobs(ctx, jobs)
}
