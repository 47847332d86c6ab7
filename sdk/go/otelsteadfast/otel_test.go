package otelsteadfast

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

const creating = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

type mail struct{}

func (mail) Kind() string { return "mail" }

// run executes one attempt and returns its span.
func run(t *testing.T, traceparent string, handler func(context.Context) error) tracetest.SpanStub {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	handlers := steadfast.NewHandlers()
	handlers.Use(Middleware(provider))
	steadfast.Handle(handlers, func(ctx context.Context, _ *steadfast.Job[mail]) error { return handler(ctx) })
	job := &api.Job{
		ID: "job_06f00000000000000000000000", Kind: "mail", Queue: "mails", Tenant: "default",
		Attempt: 2, Worker: "w1", Traceparent: traceparent, Payload: []byte("{}"),
	}
	handlers.Execute(context.Background(), job, nil)
	spans := exporter.GetSpans()
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	return spans[0]
}

func attributes(span tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, pair := range span.Attributes {
		found[string(pair.Key)] = pair.Value.Emit()
	}
	return found
}

func TestAHandlerRunsInASpanThatIsLinkedToTheCreatingSpan(t *testing.T) {
	var inside trace.SpanContext
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		sent = request.Header.Get("traceparent")
	}))
	defer server.Close()
	client, err := steadfast.NewClient(steadfast.WithURL(server.URL), WithSpans())
	if err != nil {
		t.Fatal(err)
	}
	span := run(t, creating, func(ctx context.Context) error {
		inside = trace.SpanContextFromContext(ctx)
		_, _ = client.Enqueue(ctx, mail{})
		return nil
	})
	if span.Name != "process mails" || span.SpanKind != trace.SpanKindConsumer || span.Parent.IsValid() {
		t.Errorf("%+v", span)
	}
	if len(span.Links) != 1 || span.Links[0].SpanContext.TraceID().String() != creating[3:35] {
		t.Errorf("links: %+v", span.Links)
	}
	if !inside.Equal(span.SpanContext) {
		t.Error("the handler has another span")
	}
	// What the handler creates carries its span.
	if want := "00-" + inside.TraceID().String() + "-" + inside.SpanID().String() + "-01"; sent != want {
		t.Errorf("the job carries %q instead of %q", sent, want)
	}
	found := attributes(span)
	for name, want := range map[string]string{
		"messaging.system":           "steadfast",
		"messaging.operation.name":   "process",
		"messaging.operation.type":   "process",
		"messaging.destination.name": "mails",
		"messaging.message.id":       "job_06f00000000000000000000000",
		"messaging.client.id":        "w1",
		"steadfast.job.kind":         "mail",
		"steadfast.job.tenant":       "default",
		"steadfast.job.attempt":      "2",
	} {
		if found[name] != want {
			t.Errorf("%s is %q instead of %q", name, found[name], want)
		}
	}
}

func TestAFailureHasItsClassAndASnoozeIsNone(t *testing.T) {
	for want, handler := range map[string]func(context.Context) error{
		"smtp":  func(context.Context) error { return steadfast.WithClass("smtp", errors.New("full")) },
		"panic": func(context.Context) error { panic("no") },
		"":      func(context.Context) error { return steadfast.Snooze(1) },
	} {
		span := run(t, "", handler)
		if found := attributes(span)["error.type"]; found != want {
			t.Errorf("%q instead of %q", found, want)
		}
		if len(span.Links) != 0 {
			t.Errorf("links: %+v", span.Links)
		}
	}
}

// brokenProvider has a tracer that panics at the start of a span, or a span that panics.
type brokenProvider struct {
	embedded.TracerProvider
	startsSpans bool
}

type brokenTracer struct {
	embedded.Tracer
	startsSpans bool
}

type brokenSpan struct{ trace.Span }

func (p brokenProvider) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return brokenTracer{startsSpans: p.startsSpans}
}

func (t brokenTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !t.startsSpans {
		panic("the tracer is broken")
	}
	return ctx, brokenSpan{}
}

func (brokenSpan) End(...trace.SpanEndOption) { panic("the end is broken") }

func TestAPanicOfATracerChangesNoOutcome(t *testing.T) {
	for _, startsSpans := range []bool{false, true} {
		for want, handler := range map[string]func() error{
			"":      func() error { return nil },
			"smtp":  func() error { return steadfast.WithClass("smtp", errors.New("full")) },
			"panic": func() error { panic("of the handler") },
		} {
			handlers := steadfast.NewHandlers()
			handlers.Use(Middleware(brokenProvider{startsSpans: startsSpans}))
			runs := 0
			steadfast.Handle(handlers, func(context.Context, *steadfast.Job[mail]) error {
				runs++
				return handler()
			})
			outcome := handlers.Execute(context.Background(), &api.Job{Kind: "mail", Payload: []byte("{}")}, nil)
			var class, message string
			if outcome.Failure != nil {
				class, message = outcome.Failure.Class, outcome.Failure.Message
			}
			if class != want || strings.Contains(message, "broken") || runs != 1 {
				t.Errorf("%q: class %q, %q, %d runs", want, class, message, runs)
			}
		}
	}
}
