package steadfast

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"steadfast.example/steadfast/api"
)

// claim is a job that this worker holds. It is the [AttemptStore] of its attempt.
//
// Leases are counted on this machine's monotonic clock, because the server's times mean nothing on a
// machine whose clock is wrong.
type claim struct {
	job   *api.Job
	fence int
	lease time.Duration
	// ctx ends when the attempt has to stop; abort ends it
	ctx    context.Context
	abort  context.CancelCauseFunc
	client *Client
	held   *heldClaims

	// whether its outcome has been given to the settler, which happens once
	isSettled atomic.Bool

	// guarded by the mutex of held
	until      time.Time
	nextBeat   time.Time
	reportFrom time.Time
	report     *report
	log        attemptLog
}

type report struct {
	percent int
	note    string
}

// heldClaims are the claims that are neither settled nor lost.
type heldClaims struct {
	mutex  sync.Mutex
	claims map[*claim]struct{}
	// wakes the heartbeats: a claim was added, or has a report
	changed chan struct{}
}

func newHeldClaims() *heldClaims {
	return &heldClaims{claims: map[*claim]struct{}{}, changed: make(chan struct{}, 1)}
}

func (h *heldClaims) add(claims []*claim) {
	h.mutex.Lock()
	for _, c := range claims {
		h.claims[c] = struct{}{}
	}
	h.mutex.Unlock()
	h.wake()
}

func (h *heldClaims) remove(c *claim) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.claims, c)
}

func (h *heldClaims) all() []*claim {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	all := make([]*claim, 0, len(h.claims))
	for c := range h.claims {
		all = append(all, c)
	}
	return all
}

// unsettled are the claims whose handlers have not ended, in the order of their ids.
func (h *heldClaims) unsettled() []*claim {
	all := slices.DeleteFunc(h.all(), func(c *claim) bool { return c.isSettled.Load() })
	slices.SortFunc(all, func(a, b *claim) int { return strings.Compare(a.job.ID, b.job.ID) })
	return all
}

func (h *heldClaims) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// renewed notes that the lease runs from this moment on.
func (c *claim) renewed(from time.Time) {
	c.held.mutex.Lock()
	defer c.held.mutex.Unlock()
	c.until, c.nextBeat, c.reportFrom = from.Add(c.lease), from.Add(c.lease/3), from.Add(reportDelay)
}

// beatAgain plans the next heartbeat after one that did not renew the lease: sooner than a third of
// it.
func (c *claim) beatAgain() {
	at := time.Now().Add(min(max(c.lease/9, backoffMin), backoffMax))
	c.held.mutex.Lock()
	defer c.held.mutex.Unlock()
	c.nextBeat, c.reportFrom = at, at
}

func (c *claim) leaseEnd() time.Time {
	c.held.mutex.Lock()
	defer c.held.mutex.Unlock()
	return c.until
}

// Report keeps the newest report for the next heartbeat.
func (c *claim) Report(percent int, note string) {
	c.held.mutex.Lock()
	c.report = &report{percent, note}
	c.held.mutex.Unlock()
	c.held.wake()
}

// Log adds a line to the log, for the next heartbeat.
func (c *claim) Log(line api.LogLine) {
	c.held.mutex.Lock()
	c.log.add(line)
	c.held.mutex.Unlock()
	c.held.wake()
}

// unsentLog are the lines that the server has not stored.
func (c *claim) unsentLog() *api.LogLines {
	c.held.mutex.Lock()
	defer c.held.mutex.Unlock()
	lines, _, _ := c.log.unsent()
	return lines
}

// dropLog leaves out the lines so far: the server refuses a request with them.
func (c *claim) dropLog() {
	c.held.mutex.Lock()
	defer c.held.mutex.Unlock()
	_, _, c.log.stored = c.log.unsent()
}

// hasNews tells whether the handler has said something that is not sent. The mutex is held.
func (c *claim) hasNews() bool {
	return c.report != nil || c.log.stored < c.log.first+len(c.log.lines)
}

func (c *claim) hasReport() bool {
	c.held.mutex.Lock()
	defer c.held.mutex.Unlock()
	return c.report != nil
}

// LoadStep asks the server for the result of a step.
func (c *claim) LoadStep(_ context.Context, name string) (json.RawMessage, bool, error) {
	result, err := repeat(c, func(ctx context.Context) ([]byte, error) {
		stored, err := c.client.GetStep(ctx, c.job.ID, name, api.GetStepParams{Fence: c.fence})
		return stored.Result, err
	})
	var refused *api.Error
	if errors.As(err, &refused) && refused.Code == "step_not_found" {
		return nil, false, nil
	}
	return result, err == nil, err
}

// StoreStep stores the result of a step under the fence.
func (c *claim) StoreStep(_ context.Context, name string, result json.RawMessage) (json.RawMessage, error) {
	return repeat(c, func(ctx context.Context) ([]byte, error) {
		stored, err := c.client.SaveStep(ctx, c.job.ID, name, api.SaveStepRequest{Fence: c.fence, Result: result})
		return stored.Result, err
	})
}

// Prerequisites asks the server for the jobs that the job has waited for.
func (c *claim) Prerequisites(_ context.Context) ([]api.PrerequisiteResult, error) {
	var found []api.PrerequisiteResult
	params := api.ListPrerequisitesParams{Fence: c.fence}
	for {
		page, err := repeat(c, func(ctx context.Context) ([]api.PrerequisiteResult, error) {
			list, err := c.client.ListPrerequisites(ctx, c.job.ID, params)
			params.After = list.NextCursor
			return list.Prerequisites, err
		})
		found = append(found, page...)
		if err != nil || params.After == "" {
			return found, err
		}
	}
}

// repeat sends a request about a step for as long as the attempt may go on, whatever the context of
// the caller says: a step that was done must not be forgotten because the server is unwell.
func repeat[T any](c *claim, request func(ctx context.Context) ([]T, error)) ([]T, error) {
	var wait backoff
	for {
		result, err := request(c.ctx)
		if err == nil && result == nil {
			err = errors.New("the server answered without a result")
		}
		var refused *api.Error
		if errors.As(err, &refused) && (refused.Code == "stale_fence" || refused.Code == "not_found") {
			c.abort(ErrLeaseLost)
		}
		if err == nil || c.ctx.Err() != nil || !mayBeRepeated(err) {
			return result, err
		}
		wait.sleep(c.ctx, err)
	}
}

// isRefused tells whether the content of a request is at fault, which would be refused again.
func isRefused(err error) bool {
	var refused *api.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// mayBeRepeated tells whether a request of a claim may succeed later. A key that was revoked may be
// replaced on the server's side.
func mayBeRepeated(err error) bool {
	var refused *api.Error
	if errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		return true
	}
	return api.IsTransient(err)
}
