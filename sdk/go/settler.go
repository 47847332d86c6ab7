package steadfast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	// The server accepts this many settlements in one request.
	settlementsMax = 1000
	// The server accepts bodies of 1 MiB; a batch that would be larger is sent in parts.
	settlementBytesMax = 900 << 10
	// How long a report is repeated after its lease is over. The claim may still hold by then, if the
	// server was away too.
	settleAfterLease = 5 * time.Minute
	settleTimeout    = 10 * time.Second
)

// settler reports outcomes: what is waiting goes in one request, at once if none is under way, or with
// the claim that is about to be sent. A
// request that was not answered is repeated; the server lets it take effect once.
type settler struct {
	client *Client
	held   *heldClaims
	log    *slog.Logger

	// isClaimDue tells that a claim is about to take along what waits
	isClaimDue func() bool

	mutex   sync.Mutex
	waiting []*settlement
	// how many are under way, by themselves and with a claim
	inFlight, along int
	wake            chan struct{}
}

type settlement struct {
	claim   *claim
	outcome Outcome
	body    json.RawMessage
	// whether the body has lines of the log
	hasLog bool
	// whether its body already says that the server refused the first one
	replaced int
	// it is sent in a request of its own, because the server did not say which of several is at fault
	isAlone bool
}

// settleRequest is [api.SettleRequest] with entries that are already written, because a batch is
// bounded by its size.
type settleRequest struct {
	Settlements []json.RawMessage `json:"settlements"`
}

// add reports the outcome of a claim; the first outcome of a claim counts. What is given back (a slot)
// is free before the outcome is sent, so that a claim can take it along.
func (s *settler) add(c *claim, outcome Outcome, giveBack func()) {
	if c.isSettled.CompareAndSwap(false, true) {
		s.put(c, outcome)
	}
	giveBack()
	s.signal()
}

func (s *settler) put(c *claim, outcome Outcome) {
	entry := &settlement{claim: c}
	if err := entry.write(outcome); err != nil {
		entry.write(OutcomeOf(Permanent(WithClass("result", err))))
	}
	s.mutex.Lock()
	s.waiting = append(s.waiting, entry)
	s.mutex.Unlock()
}

// write makes the body: an outcome, and the lines of the log that are not stored, unless they make the
// request too large.
func (s *settlement) write(outcome Outcome) error {
	log := s.claim.unsentLog()
	body, err := settlementText(s.claim, outcome, log)
	if log != nil && len(body) > settlementBytesMax {
		log = nil
		body, err = settlementText(s.claim, outcome, nil)
	}
	s.outcome, s.body, s.hasLog = outcome, body, log != nil
	return err
}

func (s *settler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func settlementText(c *claim, outcome Outcome, log *api.LogLines) (json.RawMessage, error) {
	body := api.SettlementRequest{ID: c.job.ID, Fence: c.fence, Outcome: outcome.Verb, Answer: outcome.Answer, Result: outcome.Result, OnSuccess: outcome.OnSuccess, Usage: outcome.Usage, Log: log}
	if string(body.Result) == "null" {
		body.Result = nil
	}
	if outcome.Verb == Snoozed {
		body.Delay = api.Ptr(api.Duration(outcome.Delay))
	}
	if f := outcome.Failure; f != nil {
		body.Failure = &api.FailureRequest{Class: f.Class, Message: f.Message, Trace: f.Trace}
		if f.Permanent {
			body.Failure.Permanent = api.Ptr(true)
		}
		if f.HTTPStatus != 0 {
			body.Failure.HTTPStatus = api.Ptr(f.HTTPStatus)
		}
		if f.RetryAfter > 0 {
			body.Failure.RetryAfter = api.Ptr(api.Duration(f.RetryAfter))
		}
	}
	return json.Marshal(body)
}

// pending is how many outcomes have not been answered yet.
func (s *settler) pending() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.waiting) + s.inFlight + s.along
}

func (s *settler) run(ctx context.Context) {
	var wait backoff
	for ctx.Err() == nil {
		var batch []*settlement
		if !s.isClaimDue() {
			batch = s.take(&s.inFlight)
		}
		if len(batch) == 0 {
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := s.send(ctx, batch)
		s.finish(batch, &s.inFlight, err)
		if err == nil {
			wait.reset()
			continue
		}
		s.log.Warn("settle failed, will be repeated", "jobs", len(batch), "error", err)
		wait.sleep(ctx, err)
	}
}

// takeAlong is the next batch, for a claim that takes it along; finishAlong follows.
func (s *settler) takeAlong() []*settlement { return s.take(&s.along) }

func (s *settler) finishAlong(batch []*settlement, err error) {
	s.finish(batch, &s.along, err)
	s.signal()
}

// take is the next batch, which is counted as under way.
func (s *settler) take(underWay *int) []*settlement {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count, size := 0, 0
	for count < len(s.waiting) && count < settlementsMax {
		next := s.waiting[count]
		size += len(next.body) + 1
		if count > 0 && (size > settlementBytesMax || next.isAlone || s.waiting[0].isAlone) {
			break
		}
		count++
	}
	batch := s.waiting[:count:count]
	s.waiting = s.waiting[count:]
	*underWay = count
	return batch
}

// finish puts a batch whose request failed back in front, without what is too old to matter.
func (s *settler) finish(batch []*settlement, underWay *int, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	*underWay = 0
	if err == nil {
		return
	}
	var again []*settlement
	for _, entry := range batch {
		if time.Since(entry.claim.leaseEnd()) > settleAfterLease {
			s.log.Error("outcome dropped: the server could not be reached in time", "job", entry.claim.job.ID)
			s.held.remove(entry.claim)
			continue
		}
		again = append(again, entry)
	}
	s.waiting = append(again, s.waiting...)
}

// send reports a batch. An error means that the same batch should be sent again.
func (s *settler) send(ctx context.Context, batch []*settlement) error {
	timeout, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var answer api.SettlementList
	err := s.client.Call(timeout, http.MethodPost, "/claims/settle", nil, settleRequest{bodies(batch)}, &answer)
	var refused *api.Error
	if isRefused(err) && errors.As(err, &refused) {
		s.replace(batch, refused)
		return err
	}
	if err != nil {
		return err
	}
	return s.accept(batch, answer.Settled)
}

func bodies(batch []*settlement) []json.RawMessage {
	bodies := make([]json.RawMessage, len(batch))
	for i, entry := range batch {
		bodies[i] = entry.body
	}
	return bodies
}

// accept heeds the results of a batch. An error means that they are not results of this batch.
func (s *settler) accept(batch []*settlement, results []api.SettlementResult) error {
	if len(results) != len(batch) {
		return fmt.Errorf("the server answered %d of %d settlements", len(results), len(batch))
	}
	for _, result := range results {
		if !result.Ok && result.Code == "" {
			return errors.New("the server answered a settlement without a result")
		}
	}
	var again []*settlement
	for i, entry := range batch {
		if result := results[i]; !result.Ok {
			s.log.Warn("outcome refused", "job", entry.claim.job.ID, "code", result.Code, "detail", result.Detail)
			isOver := result.Code == "stale_fence" || result.Code == "not_found"
			if !isOver && entry.replace(result.Detail) {
				again = append(again, entry)
				continue
			}
		}
		s.held.remove(entry.claim)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.waiting = append(again, s.waiting...)
	return nil
}

// replace finds the settlement that the server refused. The others are sent again as they were. So is
// this one, without its log: a log must not turn a success into a failure. If it has none, it becomes a
// failure that says what the server said.
func (s *settler) replace(batch []*settlement, refused *api.Error) {
	entry := findRefused(batch, refused)
	switch {
	case entry == nil:
		for _, entry := range batch {
			entry.isAlone = true
		}
	case entry.hasLog:
		s.log.Warn("log refused", "job", entry.claim.job.ID, "detail", refused.Detail)
		entry.claim.dropLog()
		entry.write(entry.outcome)
	default:
		entry.replace(refused.Detail)
	}
}

// findRefused is the settlement at fault; nil if that is not known.
func findRefused(batch []*settlement, refused *api.Error) *settlement {
	index := 0
	if _, err := fmt.Sscanf(refused.Field, "settlements[%d]", &index); err == nil && index < len(batch) {
		return batch[index]
	}
	if len(batch) > 1 && refused.Status != http.StatusRequestEntityTooLarge {
		return nil
	}
	return slices.MaxFunc(batch, func(a, b *settlement) int { return cmp.Compare(len(a.body), len(b.body)) })
}

// replace turns an outcome that the server refused into a failure that says so, and one that was
// replaced already into a release. It is false if that was done, too.
func (s *settlement) replace(detail string) bool {
	outcome := Outcome{Verb: Release}
	if s.replaced == 0 {
		outcome = Outcome{Verb: Fail, Failure: &Failure{
			Class:     "result",
			Message:   "the server refused the outcome: " + detail,
			Permanent: true,
		}}
	}
	s.replaced++
	s.write(outcome)
	return s.replaced <= 2
}
