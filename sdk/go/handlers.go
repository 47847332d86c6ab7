package steadfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sort"

	"steadfast.example/steadfast/api"
)

// Handler runs a job of any kind. Its result is kept with the attempt, as JSON.
type Handler func(ctx context.Context, job *api.Job) (result any, err error)

// Middleware wraps every handler: for logs, spans, or values of the context.
type Middleware func(next Handler) Handler

// Handlers are the handlers of a worker, by kind.
type Handlers struct {
	byKind     map[string]Handler
	confirms   map[string]Handler
	middleware []Middleware
}

// NewHandlers returns an empty set of handlers; [Handle] adds to it.
func NewHandlers() *Handlers {
	return &Handlers{byKind: map[string]Handler{}, confirms: map[string]Handler{}}
}

// Use adds middleware around all handlers; the first one is the outermost.
func (h *Handlers) Use(middleware ...Middleware) {
	h.middleware = append(h.middleware, middleware...)
}

// Handle adds the handler of a kind of job. It panics if the kind has one, because that is a mistake
// in the program.
//
// An error is retried as the policy of the job says; [Permanent], [RetryAfter] and [Snooze] say
// otherwise. The context ends when the job is cancelled, the lease is lost, the timeout is over or
// the grace of a stopping worker is over, and [context.Cause] returns the reason.
func Handle[P Payload](handlers *Handlers, run func(ctx context.Context, job *Job[P]) error) {
	HandleWithResult(handlers, func(ctx context.Context, job *Job[P]) (any, error) {
		return nil, run(ctx, job)
	})
}

// HandleWithResult adds a handler whose result is kept with the attempt.
func HandleWithResult[P Payload, R any](handlers *Handlers, run func(ctx context.Context, job *Job[P]) (R, error)) {
	var zero P
	kind := zero.Kind()
	if _, ok := handlers.byKind[kind]; ok {
		panic(fmt.Sprintf("steadfast: the kind %q already has a handler", kind))
	}
	handlers.byKind[kind] = handlerOf(kind, run)
}

// Confirmation says whether the last attempt of a job took effect: [Done], [NotDone] or [StillUnknown].
type Confirmation struct {
	answer api.ConfirmAnswer
	result any
}

// Done means that the attempt took effect: the job succeeds with this result, which may be nil.
func Done(result any) Confirmation {
	return Confirmation{answer: api.ConfirmAnswerDone, result: result}
}

// NotDone means that the attempt took no effect: the retry policy decides what follows.
func NotDone() Confirmation { return Confirmation{answer: api.ConfirmAnswerNotDone} }

// StillUnknown means that nobody knows yet: the question is repeated later.
func StillUnknown() Confirmation { return Confirmation{answer: api.ConfirmAnswerUnknown} }

// HandleConfirm adds the function that says whether the last attempt of a job took effect. Jobs that
// were created with [Confirm] ask it after an end that leaves that open, before anything is repeated. An
// error is an unknown answer.
func HandleConfirm[P Payload](handlers *Handlers, confirm func(ctx context.Context, job *Job[P]) (Confirmation, error)) {
	var zero P
	kind := zero.Kind()
	if _, ok := handlers.confirms[kind]; ok {
		panic(fmt.Sprintf("steadfast: the kind %q already has a confirm function", kind))
	}
	handlers.confirms[kind] = handlerOf(kind, confirm)
}

// handlerOf reads the payload before it runs a function.
func handlerOf[P Payload, R any](kind string, run func(ctx context.Context, job *Job[P]) (R, error)) Handler {
	return func(ctx context.Context, record *api.Job) (any, error) {
		job := &Job[P]{Job: record, attempt: attemptFrom(ctx)}
		if err := decode(record.Payload, &job.Payload); err != nil {
			return nil, &payloadError{kind: kind, cause: err}
		}
		return run(ctx, job)
	}
}

// Confirms are the kinds that have a confirm function, sorted.
func (h *Handlers) Confirms() []string { return sortedKinds(h.confirms) }

// Kinds are the kinds that have a handler, sorted.
func (h *Handlers) Kinds() []string { return sortedKinds(h.byKind) }

func sortedKinds(handlers map[string]Handler) []string {
	kinds := make([]string, 0, len(handlers))
	for kind := range handlers {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	return kinds
}

// Execute runs one attempt of a job and folds whatever the handler does, panics included, into an
// outcome. Workers and tests run handlers through it. A job of a kind without a handler is released.
func (h *Handlers) Execute(ctx context.Context, job *api.Job, store AttemptStore) (outcome Outcome) {
	// Methods of the error or of the result run here, too: a nil pointer that was returned as an error
	// must not end the whole worker.
	defer func() {
		if value := recover(); value != nil {
			outcome = OutcomeOf(&panicError{value: value, stack: debug.Stack()})
		}
	}()
	run, ok := h.byKind[job.Kind]
	isQuestion := job.Questions != nil
	if isQuestion {
		run, ok = h.confirms[job.Kind]
	}
	if !ok {
		// Another worker has its handler. A failure here would use up its attempts.
		return Outcome{Verb: Release}
	}
	a := &attempt{store: store}
	defer func() { outcome.Usage = a.takeUsage() }()
	ctx = context.WithValue(ctx, attemptKey{}, a)
	result, err := h.call(ctx, run, job)
	if err != nil {
		return OutcomeOf(err)
	}
	verb, answer := Succeed, api.ConfirmAnswer("")
	if isQuestion {
		confirmation := result.(Confirmation)
		verb, answer, result = Answered, confirmation.answer, confirmation.result
		if answer != api.ConfirmAnswerDone {
			if answer == "" {
				answer = api.ConfirmAnswerUnknown
			}
			return Outcome{Verb: Answered, Answer: answer}
		}
	}
	text, err := json.Marshal(result)
	if err != nil {
		return OutcomeOf(Permanent(WithClass("result", fmt.Errorf("cannot encode the result as JSON: %w", err))))
	}
	return Outcome{Verb: verb, Answer: answer, Result: text, OnSuccess: a.takeOnSuccess()}
}

func (h *Handlers) call(ctx context.Context, run Handler, job *api.Job) (result any, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	for i := len(h.middleware) - 1; i >= 0; i-- {
		run = h.middleware[i](run)
	}
	return run(ctx, job)
}

// decode reads a payload, and asks its Validate method if it has one.
func decode(payload json.RawMessage, into any) error {
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	// encoding/json would leave a struct empty.
	if _, ok := into.(json.Unmarshaler); !ok && string(payload) == "null" {
		if target := reflect.TypeOf(into).Elem(); target.Kind() == reflect.Struct && target.NumField() > 0 {
			return errors.New("it is null")
		}
	}
	if err := json.Unmarshal(payload, into); err != nil {
		return err
	}
	if validated, ok := into.(interface{ Validate() error }); ok {
		return validated.Validate()
	}
	return nil
}
