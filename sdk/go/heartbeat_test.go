package steadfast

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"steadfast.example/steadfast/api"
)

func TestClaimsThatAreDueSoonAreRenewedTogether(t *testing.T) {
	held := newHeldClaims()
	h := &heartbeats{held: held}
	now := time.Now()
	for id, age := range map[string]time.Duration{"due": 11 * time.Second, "soon": 7 * time.Second, "new": 0} {
		newTestClaim(held, id, 30*time.Second).renewed(now.Add(-age))
	}
	due, _ := h.due(now)
	if len(due) != 2 || due[0].job.ID != "due" || due[1].job.ID != "soon" {
		t.Errorf("%d claims are due", len(due))
	}
	due, next := h.due(now.Add(-2 * time.Second))
	if len(due) != 0 || next != time.Second {
		t.Errorf("%d claims are due, the next in %v", len(due), next)
	}
}

func TestALeaseThatIsOverAbortsItsHandler(t *testing.T) {
	held := newHeldClaims()
	c := newTestClaim(held, "job_1", 30*time.Second)
	var cause error
	c.abort = func(err error) { cause = err }
	h := &heartbeats{held: held}
	h.due(time.Now().Add(29 * time.Second))
	if cause != nil {
		t.Errorf("aborted too early: %v", cause)
	}
	h.due(time.Now().Add(31 * time.Second))
	if !errors.Is(cause, ErrLeaseLost) || len(held.all()) != 0 {
		t.Errorf("%v, %d claims held", cause, len(held.all()))
	}
}

func TestAnOutcomeThatWaitsKeepsItsClaim(t *testing.T) {
	held := newHeldClaims()
	c := newTestClaim(held, "job_1", 30*time.Second)
	c.isSettled.Store(true)
	h := &heartbeats{held: held}
	if due, _ := h.due(time.Now().Add(time.Minute)); len(due) != 1 {
		t.Errorf("%d claims are due", len(due))
	}
}

func TestAReportIsSentSoonButNotBeforeAFailedHeartbeatIsRepeated(t *testing.T) {
	held := newHeldClaims()
	c := newTestClaim(held, "job_1", 30*time.Second)
	h := &heartbeats{held: held, log: slog.New(slog.DiscardHandler)}
	c.Report(10, "a")
	if due, next := h.due(time.Now()); len(due) != 0 || next > reportDelay {
		t.Errorf("%d due, next in %v", len(due), next)
	}
	if due, _ := h.due(time.Now().Add(reportDelay)); len(due) != 1 {
		t.Errorf("%d due", len(due))
	}
	h.failed(context.Background(), []*claim{c}, errors.New("away"))
	if due, next := h.due(time.Now().Add(reportDelay)); len(due) != 0 || next < time.Second {
		t.Errorf("%d due, next in %v", len(due), next)
	}
}

func TestTheAnswerToAHeartbeatReachesTheHandler(t *testing.T) {
	var request api.HeartbeatsRequest
	client := fakeServer(t, func(body []byte) (int, any) {
		json.Unmarshal(body, &request)
		return 200, json.RawMessage(`{"claims": [{"ok": true}, {"ok": true, "cancelRequested": true},
			{"ok": true, "timedOut": true}, {"ok": false, "code": "stale_fence"}, {"ok": false, "code": "invalid"}]}`)
	})
	held := newHeldClaims()
	causes := make([]error, 5)
	claims := make([]*claim, 5)
	for i := range claims {
		claims[i] = newTestClaim(held, "job", time.Minute)
		claims[i].abort = func(err error) { causes[i] = err }
	}
	claims[0].Report(40, "on it")
	claims[4].Report(40, "refused")
	h := &heartbeats{client: client, held: held, log: slog.New(slog.DiscardHandler), worker: "w"}
	h.send(context.Background(), claims)
	for i, want := range []error{nil, ErrCancelled, ErrTimeout, ErrLeaseLost, nil} {
		if !errors.Is(causes[i], want) {
			t.Errorf("%d: %v instead of %v", i, causes[i], want)
		}
	}
	if first := request.Claims[0]; *first.Progress != 40 || first.Note != "on it" || request.Worker != "w" || claims[0].hasReport() {
		t.Errorf("%+v", request)
	}
	// a refused report is dropped, and the lease renewed without it
	if due, _ := h.due(time.Now().Add(backoffMax)); len(due) != 1 || due[0] != claims[4] || claims[4].hasReport() {
		t.Errorf("%d claims are due", len(due))
	}
}
