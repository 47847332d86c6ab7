package steadfast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	// The server accepts this many entries in one request.
	heartbeatsMax = 1000
	// The shortest time between two heartbeats of a handler that reports often.
	reportDelay = 200 * time.Millisecond
)

// heartbeats renews the leases of all claims, with one request for those that are due at about the
// same time, and aborts the handlers whose claims have expired.
type heartbeats struct {
	client *Client
	held   *heldClaims
	worker string
	lease  time.Duration
	log    *slog.Logger
}

func (h *heartbeats) run(ctx context.Context) {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for ctx.Err() == nil {
		due, next := h.due(time.Now())
		if len(due) > 0 {
			h.send(ctx, due)
			continue
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-h.held.changed:
		}
	}
}

// due are the claims to renew now, and otherwise how long nothing needs to be done. Handlers whose
// lease is over are aborted here; the outcome of one that has ended is still worth a try.
func (h *heartbeats) due(now time.Time) ([]*claim, time.Duration) {
	h.held.mutex.Lock()
	defer h.held.mutex.Unlock()
	var due, soon []*claim
	next := time.Duration(math.MaxInt64)
	for c := range h.held.claims {
		if !now.Before(c.until) && !c.isSettled.Load() {
			c.abort(ErrLeaseLost)
			delete(h.held.claims, c)
			continue
		}
		wait := c.nextBeat.Sub(now)
		if c.hasNews() {
			wait = min(wait, c.reportFrom.Sub(now))
		}
		switch {
		case wait <= 0:
			due = append(due, c)
		case wait <= c.lease/6:
			soon = append(soon, c)
		}
		next = min(next, wait)
	}
	if len(due) > 0 {
		due = append(due, soon...)
	}
	return due[:min(len(due), heartbeatsMax)], next
}

// send renews some claims. The request is given up after a third of the shortest lease, so that
// there is time for another.
func (h *heartbeats) send(ctx context.Context, claims []*claim) {
	request := api.HeartbeatsRequest{Worker: h.worker, Claims: make([]api.HeartbeatEntry, len(claims))}
	reports, stored := make([]*report, len(claims)), make([]int, len(claims))
	room := logBytesPerRequest
	shortest := claims[0].lease
	h.held.mutex.Lock()
	for i, c := range claims {
		entry := api.HeartbeatEntry{ID: c.job.ID, Fence: c.fence}
		if h.lease > 0 {
			entry.Lease = api.Ptr(api.Duration(h.lease))
		}
		if reports[i] = c.report; c.report != nil {
			entry.Note, entry.Progress = c.report.note, &c.report.percent
		}
		if lines, size, next := c.log.unsent(); lines != nil && size <= room {
			entry.Log, stored[i] = lines, next
			room -= size
		}
		request.Claims[i] = entry
		shortest = min(shortest, c.lease)
	}
	h.held.mutex.Unlock()

	limit := max(shortest/3, 250*time.Millisecond)
	sent := time.Now()
	results, err := h.post(ctx, request, limit)
	if isRefused(err) && room < logBytesPerRequest {
		// A log must not cost the leases of all claims.
		h.log.Warn("logs refused", "claims", len(claims), "error", err)
		for i, c := range claims {
			request.Claims[i].Log = nil
			h.dropReport(c, nil, stored[i])
		}
		sent = time.Now()
		results, err = h.post(ctx, request, limit)
	}
	if err != nil {
		h.failed(ctx, claims, err)
		return
	}
	for i, c := range claims {
		h.heed(c, results[i], sent)
		h.dropReport(c, reports[i], stored[i])
	}
}

func (h *heartbeats) post(ctx context.Context, request api.HeartbeatsRequest, limit time.Duration) ([]api.HeartbeatResult, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := h.client.SendHeartbeats(ctx, request)
	if err == nil {
		err = checkHeartbeats(answer.Claims, len(request.Claims))
	}
	return answer.Claims, err
}

func checkHeartbeats(results []api.HeartbeatResult, count int) error {
	if len(results) != count {
		return fmt.Errorf("the server answered %d of %d heartbeats", len(results), count)
	}
	for _, result := range results {
		if !result.Ok && result.Code == "" {
			return errors.New("the server answered a heartbeat without a result")
		}
	}
	return nil
}

// heed does what the server says about one claim.
func (h *heartbeats) heed(c *claim, result api.HeartbeatResult, sent time.Time) {
	switch {
	case !result.Ok && result.Code == "invalid":
		// the report is at fault, which is not sent again
		h.log.Warn("report refused", "job", c.job.ID, "kind", c.job.Kind, "detail", result.Detail)
		c.beatAgain()
		return
	case !result.Ok:
		if !c.isSettled.Load() {
			h.log.Warn("claim has expired", "job", c.job.ID, "kind", c.job.Kind, "code", result.Code)
		}
		c.abort(ErrLeaseLost)
		h.held.remove(c)
	case result.TimedOut != nil && *result.TimedOut:
		c.abort(ErrTimeout)
	case result.CancelRequested != nil && *result.CancelRequested:
		c.abort(ErrCancelled)
	}
	c.renewed(sent)
}

// dropReport forgets what the server has taken: a report, and the lines of the log before a number.
func (h *heartbeats) dropReport(c *claim, sent *report, stored int) {
	h.held.mutex.Lock()
	defer h.held.mutex.Unlock()
	c.log.stored = max(c.log.stored, stored)
	if c.report == sent {
		c.report = nil
	}
}

// failed plans the next try.
func (h *heartbeats) failed(ctx context.Context, claims []*claim, err error) {
	if ctx.Err() != nil {
		return
	}
	h.log.Warn("heartbeat failed", "claims", len(claims), "error", err)
	for _, c := range claims {
		c.beatAgain()
	}
}
