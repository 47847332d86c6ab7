package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answerBytesMax bounds an answer that is read: 1,000 claims with payloads of 256 KiB are the most
// that the server sends.
const answerBytesMax = 512 << 20

const (
	// timeout of a request whose context has no deadline.
	timeout = 60 * time.Second
	// triesMax of a request.
	triesMax = 4
	// retryAfterMax is how long a request waits at most because the server asks for it.
	retryAfterMax = 5 * time.Second
)

// Client sends requests to a server.
type Client struct {
	// URL of the server, such as http://127.0.0.1:7373.
	URL string
	// Key is an API key; empty for a server without keys.
	Key string
	// HTTP sends the requests; http.DefaultClient if nil.
	HTTP *http.Client
	// Headers adds headers to a request, if it is set.
	Headers func(ctx context.Context, header http.Header)
}

// Error is an answer of the server that says why it refused a request.
type Error struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Field is the field at fault, such as settlements[3].result.
	Field string `json:"field"`
	// RetryAfter is how long the server asks to wait, or 0.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%d %s: %s: %s", e.Status, e.Code, e.Field, e.Detail)
	}
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Detail)
}

// IsTransient tells whether the same request may succeed later: the server could not be reached, or
// it could not answer now.
func IsTransient(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly:
			return true
		}
		return refused.Status >= 500
	}
	var untrusted *tls.CertificateVerificationError
	return err != nil && !errors.As(err, &untrusted)
}

// hadNoEffect tells whether the server did not carry out a request: no connection came about, or the
// server says so.
func hadNoEffect(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable
	}
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// Call sends a request to a path under /api/v1 and reads its answer. It is sent up to four times: if
// it had no effect (no connection came about, or the server answered 429 or 503), or if it failed in
// another way that may pass and is not a POST.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("failed to write the body of the request: %w", err)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.send(ctx, method, path, text, answer, method != http.MethodPost)
}

// CallOnce posts a request to a path under /api/v1 and reads its answer, without repeating it.
func (c *Client) CallOnce(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("failed to write the body of the request: %w", err)
	}
	return c.sendOnce(ctx, http.MethodPost, path, text, answer)
}

// CreateJob creates a job. The request is repeated like any that is not a POST, provided that it has
// an idempotency key.
func (c *Client) CreateJob(ctx context.Context, request CreateJobRequest) (*Job, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("failed to write the job: %w", err)
	}
	job := new(Job)
	return job, c.send(ctx, http.MethodPost, "/jobs", text, job, request.IdempotencyKey != "")
}

// CreateJobs creates up to 1,000 jobs, all or none. The request is repeated like any that is not a
// POST, provided that all jobs have an idempotency key.
func (c *Client) CreateJobs(ctx context.Context, requests []CreateJobRequest) ([]Job, error) {
	text, err := json.Marshal(CreateJobsRequest{Jobs: requests})
	if err != nil {
		return nil, fmt.Errorf("failed to write the jobs: %w", err)
	}
	repeatable := !slices.ContainsFunc(requests, func(r CreateJobRequest) bool { return r.IdempotencyKey == "" })
	list := new(JobList)
	err = c.send(ctx, http.MethodPost, "/jobs", text, list, repeatable)
	if err == nil && len(list.Jobs) != len(requests) {
		err = fmt.Errorf("the server answered with %d of %d jobs", len(list.Jobs), len(requests))
	}
	return list.Jobs, err
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, answer any, repeatable bool) error {
	for attempt := 1; ; attempt++ {
		err := c.sendOnce(ctx, method, path, body, answer)
		mayHelp := IsTransient(err) && (repeatable || hadNoEffect(err))
		if !mayHelp || attempt == triesMax || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(delayAfter(err, attempt)):
		case <-ctx.Done():
			return err
		}
	}
}

// delayAfter is twice as long after each try, with jitter, and at least what the server asks for, up
// to five seconds.
func delayAfter(err error, attempt int) time.Duration {
	longest := 100 * time.Millisecond << (attempt - 1)
	delay := longest/2 + rand.N(longest/2)
	var refused *Error
	if errors.As(err, &refused) {
		delay = max(delay, min(refused.RetryAfter, retryAfterMax))
	}
	return delay
}

func (c *Client) sendOnce(ctx context.Context, method, path string, body []byte, answer any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if c.Headers != nil {
		c.Headers(ctx, request.Header)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return fmt.Errorf("failed to read the answer to %s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		return readError(response, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("failed to read the answer to %s %s: %w", method, path, err)
	}
	// A proxy, or a server that is broken, may answer anything.
	switch answer := answer.(type) {
	case *Job:
		if answer.ID == "" {
			return fmt.Errorf("the answer to %s %s is no job", method, path)
		}
	case *JobList:
		if answer.Jobs == nil {
			return fmt.Errorf("the answer to %s %s is no list of jobs", method, path)
		}
	}
	return nil
}

func readError(response *http.Response, text []byte) error {
	e := &Error{}
	if json.Unmarshal(text, e) != nil || e.Code == "" {
		e.Code, e.Detail = "http", strings.TrimSpace(string(text[:min(len(text), 200)]))
	}
	e.Status = response.StatusCode
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// pages turns calls for one page into a sequence of items.
func pages[Item any](page func(after string) ([]Item, string, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		after := ""
		for {
			items, next, err := page(after)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			after = next
		}
	}
}

func addText(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func addTexts(v url.Values, name string, values []string) {
	for _, value := range values {
		v.Add(name, value)
	}
}

func addInt(v url.Values, name string, value int) {
	if value != 0 {
		v.Set(name, strconv.Itoa(value))
	}
}

func addBool(v url.Values, name string, value bool) {
	if value {
		v.Set(name, "true")
	}
}

func addTime(v url.Values, name string, value time.Time) {
	if !value.IsZero() {
		v.Set(name, value.UTC().Format(time.RFC3339Nano))
	}
}
