package steadfast

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"steadfast.example/steadfast/api"
)

const defaultURL = "http://127.0.0.1:7373"

// Client talks to a server. It is safe for concurrent use. All calls of the API that have no method
// here are those of [api.Client].
type Client struct {
	*api.Client
	ownsHTTP    bool
	trusted     *tls.Config
	traceparent func(context.Context) string
}

// ClientOption changes a [Client].
type ClientOption func(*Client)

// WithURL sets the address of the server; STEADFAST_URL by default.
func WithURL(url string) ClientOption { return func(c *Client) { c.URL = url } }

// WithAPIKey sets the API key; STEADFAST_API_KEY by default.
func WithAPIKey(key string) ClientOption { return func(c *Client) { c.Key = key } }

// WithHTTPClient sets the HTTP client for all requests.
func WithHTTPClient(client *http.Client) ClientOption {
	return func(c *Client) { c.HTTP, c.ownsHTTP = client, false }
}

// WithTraceparentFrom sets where the traceparent of new jobs comes from, such as the span of a
// tracing library. By default it is that of [WithTraceparent].
func WithTraceparentFrom(from func(context.Context) string) ClientOption {
	return func(c *Client) { c.traceparent = from }
}

// NewClient returns a client of the server at STEADFAST_URL (http://127.0.0.1:7373 if that is not
// set), with the key STEADFAST_API_KEY. STEADFAST_CA_FILE names certificates in PEM that are trusted
// in addition to those of the system.
func NewClient(options ...ClientOption) (*Client, error) {
	c := &Client{
		Client: &api.Client{
			URL: os.Getenv("STEADFAST_URL"),
			Key: os.Getenv("STEADFAST_API_KEY"),
		},
		ownsHTTP:    true,
		traceparent: TraceparentFrom,
	}
	trusted, err := trustedCertificates(os.Getenv("STEADFAST_CA_FILE"))
	if err != nil {
		return nil, err
	}
	c.trusted = trusted
	c.HTTP = &http.Client{Transport: newTransport(new(net.Dialer).DialContext, trusted)}
	for _, option := range options {
		option(c)
	}
	if c.URL == "" {
		c.URL = defaultURL
	}
	if address, err := url.Parse(c.URL); err != nil || address.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a server, such as %s", c.URL, defaultURL)
	}
	c.Headers = func(ctx context.Context, header http.Header) {
		if traceparent := c.traceparent(ctx); traceparent != "" {
			header.Set("traceparent", traceparent)
		}
	}
	return c, nil
}

// trustedCertificates are those of the system, and those of a file in PEM if there is one.
func trustedCertificates(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("failed to read STEADFAST_CA_FILE: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("STEADFAST_CA_FILE: %s has no certificate in PEM", file)
	}
	return &tls.Config{RootCAs: pool}, nil
}

func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error), trusted *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig:       trusted.Clone(),
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       20 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Wait waits until a job has ended, and returns it with its result. It ends with the context.
func (c *Client) Wait(ctx context.Context, id string) (*api.Job, error) {
	var pause backoff
	for {
		sent := time.Now()
		job, err := c.GetJob(ctx, id, api.GetJobParams{Wait: "30s"})
		if err != nil {
			return nil, err
		}
		switch job.Label {
		case api.JobLabelSucceeded, api.JobLabelFailed, api.JobLabelCancelled:
			return job, nil
		}
		if time.Since(sent) < earlyAnswer {
			pause.sleep(ctx, nil)
		}
	}
}

// EndedError is the error of [Result] for a job that ended without success.
type EndedError struct{ Job *api.Job }

func (e *EndedError) Error() string {
	if f := e.Job.Failure; f != nil {
		return fmt.Sprintf("%s ended %s: %s: %s", e.Job.ID, e.Job.Label, f.Class, f.Message)
	}
	return fmt.Sprintf("%s ended %s: %s", e.Job.ID, e.Job.Label, e.Job.Reason)
}

// Result waits until a job has ended, and returns the result of its handler. The error of a job that
// ended without success is an [EndedError].
func Result[R any](ctx context.Context, client *Client, id string) (R, error) {
	var result R
	job, err := client.Wait(ctx, id)
	if err != nil {
		return result, err
	}
	if job.Label != api.JobLabelSucceeded {
		return result, &EndedError{Job: job}
	}
	if len(job.Result) == 0 {
		return result, nil
	}
	if err := json.Unmarshal(job.Result, &result); err != nil {
		return result, fmt.Errorf("the result of %s does not fit: %w", id, err)
	}
	return result, nil
}

type traceparentKey struct{}

// WithTraceparent returns a context whose new jobs belong to a trace, in the format of W3C. The
// context of a handler has the traceparent of its job.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// TraceparentFrom returns the traceparent of a context, or nothing.
func TraceparentFrom(ctx context.Context) string {
	traceparent, _ := ctx.Value(traceparentKey{}).(string)
	return traceparent
}
