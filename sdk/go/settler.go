package steadfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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

// settler reports outcomes: what is waiting goes in one request, at once if none is under way. A
// request that was not answered is repeated; the server lets it take effect once.
type settler struct {
	client *Client
	held   *heldClaims
	log    *slog.Logger

	mutex    sync.Mutex
	waiting  []*settlement
	inFlight bool
	wake     chan struct{}
}

type settlement struct {
	claim *claim
	body  json.RawMessage
	// whether its body already says that the server refused the first one
	replaced int
}

// settleRequest is [api.SettleRequest] with entries that are already written, because a batch is
// bounded by its size.
type settleRequest struct {
	Settlements []json.RawMessage `json:"settlements"`
}

// add reports the outcome of a claim; the first outcome of a claim counts.
func (s *settler) add(c *claim, outcome Outcome) {
	if !c.isSettled.CompareAndSwap(false, true) {
		return
	}
	body, err := settlementText(c, outcome)
	if err != nil {
		body, _ = settlementText(c, outcomeOf(Permanent(WithClass("result", err))))
	}
	s.mutex.Lock()
	s.waiting = append(s.waiting, &settlement{claim: c, body: body})
	s.mutex.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func settlementText(c *claim, outcome Outcome) (json.RawMessage, error) {
	body := api.SettlementRequest{ID: c.job.ID, Fence: c.fence, Outcome: outcome.Verb, Result: outcome.Result, OnSuccess: outcome.OnSuccess}
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
	if s.inFlight {
		return len(s.waiting) + 1
	}
	return len(s.waiting)
}

func (s *settler) run(ctx context.Context) {
	var wait backoff
	for ctx.Err() == nil {
		batch := s.take()
		if len(batch) == 0 {
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := s.send(ctx, batch)
		s.finish(batch, err)
		if err == nil {
			wait.reset()
			continue
		}
		s.log.Warn("settle failed, will be repeated", "jobs", len(batch), "error", err)
		wait.sleep(ctx, err)
	}
}

// take is the next batch.
func (s *settler) take() []*settlement {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count, size := 0, 0
	for count < len(s.waiting) && count < settlementsMax {
		size += len(s.waiting[count].body) + 1
		if count > 0 && size > settlementBytesMax {
			break
		}
		count++
	}
	batch := s.waiting[:count:count]
	s.waiting = s.waiting[count:]
	s.inFlight = count > 0
	return batch
}

// finish puts a batch whose request failed back in front, without what is too old to matter.
func (s *settler) finish(batch []*settlement, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inFlight = false
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
	request := settleRequest{Settlements: make([]json.RawMessage, len(batch))}
	for i, entry := range batch {
		request.Settlements[i] = entry.body
	}
	timeout, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var answer api.SettlementList
	err := s.client.Call(timeout, http.MethodPost, "/claims/settle", nil, request, &answer)
	var refused *api.Error
	if errors.As(err, &refused) && (refused.Status == http.StatusUnprocessableEntity || refused.Status == http.StatusRequestEntityTooLarge) {
		s.replace(batch, refused)
		return err
	}
	if err != nil {
		return err
	}
	if len(answer.Settled) != len(batch) {
		return fmt.Errorf("the server answered %d of %d settlements", len(answer.Settled), len(batch))
	}
	for _, result := range answer.Settled {
		if !result.Ok && result.Code == "" {
			return errors.New("the server answered a settlement without a result")
		}
	}
	var again []*settlement
	for i, entry := range batch {
		if result := answer.Settled[i]; !result.Ok {
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

// replace finds the settlement that the server refused, and turns it into a failure that says so;
// the others are sent again as they were.
func (s *settler) replace(batch []*settlement, refused *api.Error) {
	index := 0
	if _, err := fmt.Sscanf(refused.Field, "settlements[%d]", &index); err != nil || index >= len(batch) {
		index = 0
		for i, entry := range batch {
			if len(entry.body) > len(batch[index].body) {
				index = i
			}
		}
	}
	batch[index].replace(refused.Detail)
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
	s.body, _ = settlementText(s.claim, outcome)
	return s.replaced <= 2
}
