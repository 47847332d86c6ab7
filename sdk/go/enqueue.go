package steadfast

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"steadfast.example/steadfast/api"
)

// Payload is the input of a job, as JSON. Its kind selects the handler. Kind is also called on the
// zero value, so it must not depend on the fields.
type Payload interface {
	Kind() string
}

// PayloadWithOptions is a payload with its own options; options of [Client.Enqueue] override them.
type PayloadWithOptions interface {
	Payload
	EnqueueOptions() []EnqueueOption
}

// EnqueueOption changes a job that is enqueued.
type EnqueueOption func(*api.CreateJobRequest)

// AtMostOnce starts the job at most once, whatever happens.
func AtMostOnce() EnqueueOption {
	return func(r *api.CreateJobRequest) { r.Type = api.GuaranteeAtMostOnce }
}

// StartBefore ends the job unstarted if its first attempt has not started by this time.
func StartBefore(deadline time.Time) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.StartBefore = deadline.UTC().Format(time.RFC3339Nano) }
}

// StartWithin ends the job unstarted if its first attempt has not started this long after its
// creation.
func StartWithin(limit time.Duration) EnqueueOption {
	return func(r *api.CreateJobRequest) { r.StartBefore = api.Duration(limit).String() }
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

// With changes any field of the request.
func With(change func(*api.CreateJobRequest)) EnqueueOption { return change }

// NewJob returns the request that enqueues a job, for [Client.EnqueueMany] and for schedules. The
// payload is checked as the worker will check it, by its Validate method too.
func NewJob(payload Payload, options ...EnqueueOption) (api.CreateJobRequest, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return api.CreateJobRequest{}, fmt.Errorf("failed to write the payload of %s: %w", payload.Kind(), err)
	}
	if err := decode(text, reflect.New(reflect.TypeOf(payload)).Interface()); err != nil {
		return api.CreateJobRequest{}, &payloadError{kind: payload.Kind(), cause: err}
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

// NewJobs returns the requests that enqueue jobs of one kind, for [Client.EnqueueMany].
func NewJobs[P Payload](payloads []P, options ...EnqueueOption) ([]api.CreateJobRequest, error) {
	requests := make([]api.CreateJobRequest, len(payloads))
	for i, payload := range payloads {
		var err error
		if requests[i], err = NewJob(payload, options...); err != nil {
			return nil, fmt.Errorf("payload %d: %w", i, err)
		}
	}
	return requests, nil
}

// Enqueue creates a job. It gets an idempotency key unless it has one, so that the request can be
// repeated.
func (c *Client) Enqueue(ctx context.Context, payload Payload, options ...EnqueueOption) (*api.Job, error) {
	request, err := NewJob(payload, options...)
	if err != nil {
		return nil, err
	}
	job, err := c.CreateJob(ctx, withKey(request))
	if err != nil {
		return nil, fmt.Errorf("failed to enqueue %s: %w", payload.Kind(), err)
	}
	return job, nil
}

// EnqueueMany creates up to 1,000 jobs, all or none. Each gets an idempotency key unless it has one,
// so that the request can be repeated.
func (c *Client) EnqueueMany(ctx context.Context, jobs ...api.CreateJobRequest) ([]api.Job, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	requests := make([]api.CreateJobRequest, len(jobs))
	for i, job := range jobs {
		requests[i] = withKey(job)
	}
	return c.CreateJobs(ctx, requests)
}

func withKey(request api.CreateJobRequest) api.CreateJobRequest {
	if request.IdempotencyKey == "" {
		request.IdempotencyKey = rand.Text()
	}
	return request
}
