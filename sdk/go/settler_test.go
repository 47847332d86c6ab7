package steadfast

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"steadfast.example/steadfast/api"
)

// fakeServer answers requests to one path with a function, one after the other.
func fakeServer(t *testing.T, answer func(body []byte) (int, any)) *Client {
	t.Helper()
	var mutex sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mutex.Lock()
		defer mutex.Unlock()
		status, value := answer(body)
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(value)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(WithURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func newTestClaim(held *heldClaims, id string, lease time.Duration) *claim {
	c := &claim{job: &api.Job{ID: id}, fence: 1, lease: lease, held: held, abort: func(error) {}}
	c.renewed(time.Now())
	held.add([]*claim{c})
	return c
}

// settleAll settles outcomes until nothing is pending.
func settleAll(t *testing.T, client *Client, outcomes ...Outcome) *heldClaims {
	t.Helper()
	held, s := newTestSettler(client)
	for i, outcome := range outcomes {
		s.add(newTestClaim(held, fmt.Sprint("job_", i), time.Minute), outcome, func() {})
	}
	settle(t, s)
	return held
}

func newTestSettler(client *Client) (*heldClaims, *settler) {
	held := newHeldClaims()
	return held, &settler{client: client, held: held, log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), isClaimDue: func() bool { return false }}
}

func settle(t *testing.T, s *settler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go s.run(ctx)
	for s.pending() > 0 {
		if ctx.Err() != nil {
			t.Fatal("the outcomes were not settled")
		}
		time.Sleep(time.Millisecond)
	}
}

func readSettlements(body []byte) []api.SettlementRequest {
	var request api.SettleRequest
	json.Unmarshal(body, &request)
	return request.Settlements
}

func accepted(count int) any {
	settled := make([]map[string]any, count)
	for i := range settled {
		settled[i] = map[string]any{"ok": true}
	}
	return map[string]any{"settled": settled}
}

func TestOnlyTheRefusedOutcomeBecomesAFailure(t *testing.T) {
	final := map[string]api.SettlementRequest{}
	client := fakeServer(t, func(body []byte) (int, any) {
		sent := readSettlements(body)
		for i, s := range sent {
			if s.ID == "job_1" && s.Outcome == Succeed {
				return 422, api.Error{Code: "invalid", Detail: "too large", Field: fmt.Sprintf("settlements[%d].result", i)}
			}
		}
		for _, s := range sent {
			final[s.ID] = s
		}
		return 200, accepted(len(sent))
	})
	success := Outcome{Verb: Succeed, Result: []byte(`1`)}
	held := settleAll(t, client, success, success, success)
	if final["job_0"].Outcome != Succeed || final["job_2"].Outcome != Succeed {
		t.Errorf("%+v", final)
	}
	if refused := final["job_1"]; refused.Outcome != Fail || !strings.Contains(refused.Failure.Message, "too large") {
		t.Errorf("%+v", refused)
	}
	if left := held.all(); len(left) != 0 {
		t.Errorf("%d claims are still held", len(left))
	}
}

func TestIfTheServerDoesNotSayWhichOutcomeIsWrongTheOthersAreSettled(t *testing.T) {
	final := map[string]api.SettlementRequest{}
	client := fakeServer(t, func(body []byte) (int, any) {
		if strings.Contains(string(body), "deep") {
			return 400, api.Error{Code: "bad_json", Detail: "nested too far"}
		}
		for _, s := range readSettlements(body) {
			final[s.ID] = s
		}
		return 200, accepted(len(readSettlements(body)))
	})
	large := Outcome{Verb: Succeed, Result: []byte(`"a large result"`)}
	settleAll(t, client, large, Outcome{Verb: Succeed, Result: []byte(`"deep"`)}, large)
	if final["job_0"].Outcome != Succeed || final["job_1"].Outcome != Fail || final["job_2"].Outcome != Succeed {
		t.Errorf("%+v", final)
	}
}

func TestAnOutcomeThatIsRefusedByItselfBecomesAFailure(t *testing.T) {
	final := map[string]api.SettlementRequest{}
	client := fakeServer(t, func(body []byte) (int, any) {
		sent := readSettlements(body)
		settled := make([]map[string]any, len(sent))
		for i, s := range sent {
			settled[i] = map[string]any{"id": s.ID, "ok": true}
			if s.ID == "job_1" && s.Outcome == Succeed {
				settled[i] = map[string]any{"id": s.ID, "ok": false, "code": "invalid", "detail": "too large", "field": "result"}
				continue
			}
			final[s.ID] = s
		}
		return 200, map[string]any{"settled": settled}
	})
	success := Outcome{Verb: Succeed, Result: []byte(`1`)}
	held := settleAll(t, client, success, success)
	if final["job_0"].Outcome != Succeed {
		t.Errorf("%+v", final)
	}
	if refused := final["job_1"]; refused.Outcome != Fail || !strings.Contains(refused.Failure.Message, "too large") {
		t.Errorf("%+v", refused)
	}
	if left := held.all(); len(left) != 0 {
		t.Errorf("%d claims are still held", len(left))
	}
}

func TestBatchesAreBoundedInNumberAndSize(t *testing.T) {
	var counts []int
	client := fakeServer(t, func(body []byte) (int, any) {
		if len(body) > 1<<20 {
			t.Errorf("a body of %d bytes was sent", len(body))
		}
		count := len(readSettlements(body))
		counts = append(counts, count)
		return 200, accepted(count)
	})
	large := Outcome{Verb: Succeed, Result: []byte(`"` + strings.Repeat("x", 60<<10) + `"`)}
	outcomes := make([]Outcome, 40)
	for i := range outcomes {
		outcomes[i] = large
	}
	settleAll(t, client, outcomes...)
	if len(counts) != 3 {
		t.Errorf("2.4 MB were sent as %v", counts)
	}
	counts = nil
	settleAll(t, client, make([]Outcome, 2500)...)
	if len(counts) != 3 || counts[0] != settlementsMax {
		t.Errorf("2,500 outcomes were sent as %v", counts)
	}
}

func TestTheFirstOutcomeOfAClaimCounts(t *testing.T) {
	held := newHeldClaims()
	s := &settler{held: held, wake: make(chan struct{}, 1), isClaimDue: func() bool { return false }}
	c := newTestClaim(held, "job_1", time.Minute)
	s.add(c, Outcome{Verb: Release}, func() {})
	s.add(c, Outcome{Verb: Succeed}, func() {})
	if len(s.waiting) != 1 || !strings.Contains(string(s.waiting[0].body), "release") {
		t.Errorf("%d outcomes", len(s.waiting))
	}
}

func TestAnOutcomeIsDroppedLongAfterItsLease(t *testing.T) {
	held := newHeldClaims()
	s := &settler{held: held, log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), isClaimDue: func() bool { return false }}
	old, young := newTestClaim(held, "old", time.Minute), newTestClaim(held, "young", time.Minute)
	old.renewed(time.Now().Add(-2*time.Minute - settleAfterLease))
	s.add(old, Outcome{Verb: Succeed}, func() {})
	s.add(young, Outcome{Verb: Succeed}, func() {})
	s.finish(s.take(&s.inFlight), &s.inFlight, context.DeadlineExceeded)
	if len(s.waiting) != 1 || s.waiting[0].claim != young || len(held.all()) != 1 {
		t.Errorf("%d outcomes, %d claims", len(s.waiting), len(held.all()))
	}
}
