// Package otelsteadfast traces jobs with OpenTelemetry. It is a module of its own, so that programs
// without OpenTelemetry do not depend on it.
//
//	client, err := steadfast.NewClient(otelsteadfast.WithSpans())
//	handlers.Use(otelsteadfast.Middleware(otel.GetTracerProvider()))
package otelsteadfast

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

const scope = "steadfast.example/steadfast/otelsteadfast"

// Middleware runs every handler in a span "process {queue}": a trace of its own, linked to the span
// that created the job. Use it as the outermost middleware.
func Middleware(provider trace.TracerProvider) steadfast.Middleware {
	tracer := provider.Tracer(scope)
	return func(next steadfast.Handler) steadfast.Handler {
		return func(ctx context.Context, job *api.Job) (result any, err error) {
			ctx, span := start(ctx, tracer, job)
			defer quietly(func() { span.End() })
			defer func() {
				if value := recover(); value != nil {
					quietly(func() { fail(span, "panic") })
					panic(value)
				}
			}()
			result, err = next(ctx, job)
			if err != nil {
				if failure := steadfast.OutcomeOf(err).Failure; failure != nil {
					quietly(func() { fail(span, failure.Class) })
				}
			}
			return result, err
		}
	}
}

// start starts the span of an attempt. A tracer that panics leaves it without one.
func start(ctx context.Context, tracer trace.Tracer, job *api.Job) (context.Context, trace.Span) {
	started, span := ctx, trace.SpanFromContext(context.Background())
	quietly(func() { started, span = tracer.Start(ctx, "process "+job.Queue, options(job)...) })
	return started, span
}

// quietly calls a tracer. What goes wrong there is not an outcome of the attempt.
func quietly(call func()) {
	defer func() { _ = recover() }()
	call()
}

// WithSpans lets new jobs carry the current span of the context they are created with, or else the
// traceparent of [steadfast.WithTraceparent].
func WithSpans() steadfast.ClientOption {
	return steadfast.WithTraceparentFrom(func(ctx context.Context) string {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		if traceparent := carrier["traceparent"]; traceparent != "" {
			return traceparent
		}
		return steadfast.TraceparentFrom(ctx)
	})
}

func options(job *api.Job) []trace.SpanStartOption {
	attributes := []attribute.KeyValue{
		attribute.String("messaging.system", "steadfast"),
		attribute.String("messaging.operation.name", "process"),
		attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.destination.name", job.Queue),
		attribute.String("messaging.message.id", job.ID),
		attribute.String("steadfast.job.kind", job.Kind),
		attribute.String("steadfast.job.tenant", job.Tenant),
		attribute.Int64("steadfast.job.attempt", int64(job.Attempt)),
	}
	if job.Worker != "" {
		attributes = append(attributes, attribute.String("messaging.client.id", job.Worker))
	}
	options := []trace.SpanStartOption{
		trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attributes...),
	}
	carrier := propagation.MapCarrier{"traceparent": job.Traceparent}
	creator := propagation.TraceContext{}.Extract(context.Background(), carrier)
	if link := trace.LinkFromContext(creator); link.SpanContext.IsValid() {
		options = append(options, trace.WithLinks(link))
	}
	return options
}

func fail(span trace.Span, class string) {
	span.SetAttributes(attribute.String("error.type", class))
	span.SetStatus(codes.Error, class)
}
