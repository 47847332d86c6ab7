package steadfast

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	// How long a claim request waits for the first job.
	pollWait = 20 * time.Second
	// What a claim request may take beyond that.
	pollMargin = 10 * time.Second
	// An answer without jobs that came sooner did not wait; asking again at once would not end.
	earlyAnswer = time.Second
	// How long a few free slots wait for more, so that a busy worker does not claim jobs one by one.
	slotDelay = 10 * time.Millisecond
	// How long a stopping worker waits for the answer to a claim that may be on its way.
	lastAnswerWait = time.Second
)

// claimer takes jobs while slots are free.
type claimer struct {
	client  *Client
	slots   *slots
	settler *settler
	request api.ClaimJobsRequest
	// session names this process, so that claims of an answer that got lost go back at once
	session api.ClaimSession
	log     *slog.Logger
	// connection of the claim requests, if this library opens it
	connection *claimConnection
	// start runs the claims; release gives them back
	start, release func([]*claim)
	newClaim       func(api.Claim, time.Time) *claim
}

// claimRequest is [api.ClaimJobsRequest] with settlements that are already written.
type claimRequest struct {
	api.ClaimJobsRequest
	Settlements []json.RawMessage `json:"settlements,omitempty"`
}

// run claims until the context ends. The error is that of a server which refuses this worker from
// the start: a wrong key or a wrong name would not get better.
func (c *claimer) run(ctx context.Context) error {
	var wait backoff
	accepted := false
	for {
		free := c.slots.wait(ctx)
		if ctx.Err() != nil {
			c.settler.signal()
			return nil
		}
		sent := time.Now()
		outcomes := c.settler.takeAlong()
		claims, err := c.claim(ctx, free, outcomes)
		c.settler.finishAlong(outcomes, err)
		switch {
		case ctx.Err() != nil:
			if len(claims) > 0 {
				c.log.Info("releasing jobs claimed after the stop", "jobs", ids(claims))
				c.release(claims)
			}
			return nil
		case err == nil && len(claims) == 0 && len(outcomes) == 0 && time.Since(sent) < earlyAnswer:
			accepted = true
			wait.sleep(ctx, nil)
		case err == nil:
			accepted = true
			wait.reset()
			c.start(claims)
		case !accepted && !api.IsTransient(err):
			return err
		default:
			c.log.Warn("claim failed, will be repeated", "error", err)
			wait.sleep(ctx, err)
		}
	}
}

// claim sends one request, which reports outcomes as well; with outcomes, the server does not wait for
// jobs. When the worker stops meanwhile, the request is ended in a way that does
// not lose jobs which are already on their way.
func (c *claimer) claim(stopping context.Context, count int, outcomes []*settlement) ([]*claim, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stopping), pollWait+pollMargin)
	defer cancel()
	defer context.AfterFunc(stopping, func() {
		if c.connection == nil || !c.connection.closeWrite() {
			cancel()
		}
		time.AfterFunc(lastAnswerWait, cancel)
	})()
	c.session.Sequence++
	session := c.session
	request := claimRequest{ClaimJobsRequest: c.request, Settlements: bodies(outcomes)}
	request.Max, request.Session = &count, &session
	client := *c.client.Client
	if c.connection != nil {
		client.HTTP = c.connection.http
	}
	var answer api.ClaimList
	if err := client.CallOnce(ctx, "/claims", request, &answer); err != nil {
		return nil, err
	}
	if answer.Claims == nil {
		return nil, errors.New("the server answered without a list of claims")
	}
	received := time.Now()
	claims := make([]*claim, 0, len(answer.Claims))
	for _, entry := range answer.Claims {
		if entry.ID == "" || entry.Job.ID == "" || entry.Job.Kind == "" || entry.Job.LeaseMs <= 0 {
			return nil, errors.New("the server answered with a claim without its job")
		}
		claims = append(claims, c.newClaim(entry, received))
	}
	if err := c.settler.accept(outcomes, answer.Settled); err != nil {
		return nil, err
	}
	c.session.Received = api.Ptr(session.Sequence)
	return claims, nil
}

// claimConnection is the connection of the claim requests. Closing only its sending side tells the
// server to stop waiting, while an answer that is already on its way still arrives; a closed
// connection would lose it, and its jobs would wait for their lease to expire.
type claimConnection struct {
	http   *http.Client
	mutex  sync.Mutex
	newest net.Conn
}

func newClaimConnection(trusted *tls.Config) *claimConnection {
	c := &claimConnection{}
	c.http = &http.Client{Transport: newTransport(c.dial, trusted)}
	return c
}

func (c *claimConnection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, network, address)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.newest = connection
	return connection, err
}

func (c *claimConnection) closeWrite() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	connection, ok := c.newest.(*net.TCPConn)
	return ok && connection != nil && connection.CloseWrite() == nil
}

// slots counts the handlers that may run at once.
type slots struct {
	mutex   sync.Mutex
	total   int
	running int
	// a claim is sent as soon as there is room
	isAwaited bool
	freed     chan struct{}
	// no jobs are taken while this says that too many outcomes are waiting
	isBlocked func() bool
}

func (s *slots) take(count int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.running += count
}

func (s *slots) free() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.total - s.running
}

func (s *slots) giveBack() {
	s.mutex.Lock()
	s.running--
	s.mutex.Unlock()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

func (s *slots) await(isAwaited bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.isAwaited = isAwaited
}

func (s *slots) enough() int { return max(s.total/4, 1) }

// isClaimDue tells whether the claimer is about to send a request.
func (s *slots) isClaimDue() bool {
	s.mutex.Lock()
	hasRoom := s.isAwaited && s.total-s.running >= s.enough()
	s.mutex.Unlock()
	return hasRoom && !s.isBlocked()
}

// wait returns how many slots are free once it is worth a request: a quarter of them, or fewer that
// have been free for a moment.
func (s *slots) wait(ctx context.Context) int {
	s.await(true)
	defer s.await(false)
	var patience <-chan time.Time
	for ctx.Err() == nil {
		free := s.free()
		if free >= s.enough() && !s.isBlocked() {
			return min(free, settlementsMax)
		}
		if free > 0 && patience == nil {
			timer := time.NewTimer(slotDelay)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-s.freed:
		case <-ctx.Done():
		case <-patience:
			patience = nil
			if free := s.free(); free > 0 && !s.isBlocked() {
				return min(free, settlementsMax)
			}
		}
	}
	return 0
}
