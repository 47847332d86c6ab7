package steadfast

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"time"
)

// Reasons for the end of a handler's context, as [context.Cause] returns them.
var (
	// ErrCancelled: the job was cancelled.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrLeaseLost: the claim has expired, and nothing that the handler reports counts.
	ErrLeaseLost = errors.New("the lease was lost")
	// ErrTimeout: the attempt took longer than the timeout of the job.
	ErrTimeout = errors.New("the attempt timed out")
	// ErrStopped: the worker stops, and the job was given back.
	ErrStopped = errors.New("the worker was stopped")
)

// ErrForced is what [Worker.Run] returns when a second signal ended it at once.
var ErrForced = errors.New("a second signal ended the worker at once")

// Permanent marks an error that another try would not change: the job becomes a dead letter, unless
// a rule of its policy retries that class. The class stays that of the error; one that has none is
// called validation.
func Permanent(err error) error { return newDecision(decision{cause: err, permanent: true}) }

// RetryAfter marks an error and sets the shortest delay before the next attempt.
func RetryAfter(err error, delay time.Duration) error {
	return newDecision(decision{cause: err, retryAfter: delay})
}

// WithClass gives an error a class for retry rules, filters and groups of failures. Without it the class is the name of the error's type, or error.
func WithClass(class string, err error) error {
	return newDecision(decision{cause: err, class: class})
}

// WithHTTPStatus gives an error the HTTP status that caused it, which retry rules match. Most of 3xx
// and 4xx are not retried.
func WithHTTPStatus(status int, err error) error {
	return newDecision(decision{cause: err, httpStatus: status})
}

// Snooze returns an error that runs the job again after a while, without counting the attempt.
func Snooze(delay time.Duration) error { return &snoozeError{delay: delay} }

// decision is an error with what should follow it, and where it was decided.
type decision struct {
	cause      error
	class      string
	permanent  bool
	retryAfter time.Duration
	httpStatus int
	callers    []uintptr
}

func newDecision(d decision) error {
	if d.cause == nil {
		return nil
	}
	d.callers = make([]uintptr, 32)
	d.callers = d.callers[:runtime.Callers(3, d.callers)]
	return &d
}

func (d *decision) Error() string { return d.cause.Error() }
func (d *decision) Unwrap() error { return d.cause }

type snoozeError struct{ delay time.Duration }

func (s *snoozeError) Error() string { return fmt.Sprintf("snoozed for %v", s.delay) }

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprint(p.value) }

type payloadError struct {
	kind  string
	cause error
}

func (p *payloadError) Error() string {
	return fmt.Sprintf("the payload does not fit %s: %v", p.kind, p.cause)
}
func (p *payloadError) Unwrap() error { return p.cause }

// OutcomeOf turns the error of a handler into the outcome that is reported.
func OutcomeOf(err error) Outcome {
	var snooze *snoozeError
	if errors.As(err, &snooze) {
		return Outcome{Verb: Snoozed, Delay: snooze.delay}
	}
	failure := &Failure{Class: classOf(err), Message: shorten(err.Error()), Trace: shorten(traceOf(err))}
	for current := range chain(err) {
		if d, ok := current.(*decision); ok {
			failure.Permanent = failure.Permanent || d.permanent
			failure.RetryAfter = max(failure.RetryAfter, d.retryAfter)
			failure.HTTPStatus = cmp.Or(failure.HTTPStatus, d.httpStatus)
		}
	}
	if failure.Class == "" {
		failure.Class = "error"
		if failure.Permanent {
			failure.Class = "validation"
		}
	}
	return Outcome{Verb: Fail, Failure: failure}
}

// chain walks through an error and everything that it wraps, joined errors included.
func chain(err error) iter.Seq[error] {
	return func(yield func(error) bool) { walk(err, yield) }
}

func walk(err error, yield func(error) bool) bool {
	if err == nil {
		return true
	}
	if !yield(err) {
		return false
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			if !walk(one, yield) {
				return false
			}
		}
		return true
	}
	return walk(errors.Unwrap(err), yield)
}

// classOf is the class that was given to an error, or the name of the first type in its chain that
// is more than text. It is empty if there is none.
func classOf(err error) string {
	var panicked *panicError
	var payload *payloadError
	switch {
	case errors.As(err, &panicked):
		return "panic"
	case errors.As(err, &payload):
		return "payload"
	}
	for current := range chain(err) {
		if d, ok := current.(*decision); ok {
			if d.class != "" {
				return d.class
			}
			continue
		}
		if classed, ok := current.(interface{ Class() string }); ok {
			return classed.Class()
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", current), "*")
		if !strings.HasPrefix(name, "fmt.") && !strings.HasPrefix(name, "errors.") {
			return name
		}
	}
	return ""
}

// traceOf is where an error came from: the stack of a panic, the chain of the
// causes, and the stack where a decision was made.
func traceOf(err error) string {
	var panicked *panicError
	if errors.As(err, &panicked) {
		return string(panicked.stack)
	}
	var trace strings.Builder
	var decided *decision
	for current := range chain(err) {
		if d, ok := current.(*decision); ok {
			decided = d
			continue
		}
		text := current.Error()
		if detailed := fmt.Sprintf("%+v", current); strings.HasPrefix(detailed, text) {
			text = detailed
		}
		fmt.Fprintf(&trace, "%T: %s\n", current, text)
	}
	if decided != nil {
		frames := runtime.CallersFrames(decided.callers)
		for {
			frame, more := frames.Next()
			fmt.Fprintf(&trace, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
			if !more {
				break
			}
		}
	}
	return trace.String()
}

// textBytesMax is what the server keeps of a trace.
const textBytesMax = 64 << 10

// shorten cuts a text in the middle, because its beginning and its end tell the most.
func shorten(text string) string {
	const mark = "\n… cut …\n"
	if len(text) <= textBytesMax {
		return text
	}
	half := (textBytesMax - len(mark)) / 2
	return strings.ToValidUTF8(text[:half], "") + mark + strings.ToValidUTF8(text[len(text)-half:], "")
}
