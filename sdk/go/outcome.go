package steadfast

import (
	"encoding/json"
	"net/http"
	"time"

	"steadfast.example/steadfast/api"
)

// Verb is the reported outcome of an attempt.
type Verb = api.SettlementOutcome

// How an attempt can end.
const (
	Succeed = api.SettlementOutcomeSucceed
	Fail    = api.SettlementOutcomeFail
	Snoozed = api.SettlementOutcomeSnooze
	// Release gives a job back uncounted.
	Release = api.SettlementOutcomeRelease
	// Answered is the end of a question whether the last attempt took effect.
	Answered = api.SettlementOutcomeAnswer
)

// Outcome is how an attempt ended.
type Outcome struct {
	Verb Verb
	// Answer to a question.
	Answer api.ConfirmAnswer
	// Result of a success.
	Result json.RawMessage
	// OnSuccess are the jobs that a success creates.
	OnSuccess []api.CreateJobRequest
	// Failure, if it failed.
	Failure *Failure
	// Delay of a snooze.
	Delay time.Duration
	// Usage is what the attempt used, by unit.
	Usage map[string]float64
}

// Failure describes a failed attempt.
type Failure struct {
	Class, Message string
	// Trace has the stack of a panic, or the chain of causes.
	Trace string
	// RetryAfter is the shortest delay before the next attempt.
	RetryAfter time.Duration
	// HTTPStatus that caused it, or 0.
	HTTPStatus int
	// Permanent, if the handler says that another try would not change it. See [Failure.IsPermanent].
	Permanent bool
}

// stoppedFailure is what a handler returned after it was stopped: only what happened is of interest,
// not what should follow.
func stoppedFailure(class string, f *Failure) *Failure {
	return &Failure{Class: class, Message: f.Message, Trace: f.Trace}
}

// permanentClasses are those that the server does not retry.
var permanentClasses = map[string]bool{
	"validation": true, "not_found": true, "unauthorized": true, "forbidden": true,
	"syntax": true, "redirect": true, "blocked": true, "payload": true,
	"ValidationError": true, "NotFoundError": true, "UnauthorizedError": true, "ForbiddenError": true, "SyntaxError": true,
}

// IsPermanent tells whether the server would not retry this failure, unless a rule of the policy says
// so: the handler calls it permanent, or its class or HTTP status is one that is.
func (f *Failure) IsPermanent() bool {
	isPermanentStatus := f.HTTPStatus >= 300 && f.HTTPStatus < 500
	switch f.HTTPStatus {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		isPermanentStatus = false
	}
	return f.Permanent || permanentClasses[f.Class] || isPermanentStatus
}
