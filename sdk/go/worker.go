package steadfast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	defaultConcurrency = 10
	defaultGrace       = 30 * time.Second
	// How long handlers that were aborted may take to return.
	abortWait = time.Second
	// How long a stopping worker tries to report the last outcomes.
	flushWait = 5 * time.Second
	// No jobs are claimed while this many outcomes, or as many as there are slots, wait to be settled.
	unsettledMax = 1000
	// The server accepts this many kinds in a claim.
	kindsMax = 100
)

// Worker claims jobs and runs their handlers.
type Worker struct {
	client   *Client
	handlers *Handlers
	options  workerOptions

	held    *heldClaims
	slots   *slots
	settler *settler
	beats   *heartbeats
	running sync.WaitGroup
	hasRun  atomic.Bool
	// stopping is closed when the worker begins to stop
	stopping chan struct{}
}

type workerOptions struct {
	name        string
	version     string
	tenant      string
	queues      []string
	concurrency int
	lease       time.Duration
	grace       time.Duration
	log         *slog.Logger
	signals     []os.Signal
}

// WorkerOption changes a [Worker].
type WorkerOption func(*workerOptions)

// WithConcurrency sets the maximum number of jobs that run at once; 10 by default.
func WithConcurrency(count int) WorkerOption { return func(o *workerOptions) { o.concurrency = count } }

// WithQueues limits the worker to some queues; all by default.
func WithQueues(names ...string) WorkerOption { return func(o *workerOptions) { o.queues = names } }

// WithLease sets the lease duration; by default that of each job.
func WithLease(lease time.Duration) WorkerOption { return func(o *workerOptions) { o.lease = lease } }

// WithGrace sets the grace period for running jobs when the worker stops; 30 s by default.
func WithGrace(grace time.Duration) WorkerOption { return func(o *workerOptions) { o.grace = grace } }

// WithWorkerName sets the name that the server shows; host, process and a random number by default.
func WithWorkerName(name string) WorkerOption { return func(o *workerOptions) { o.name = name } }

// WithVersion sets the version of the program, which the server shows; by default that of the build.
func WithVersion(version string) WorkerOption { return func(o *workerOptions) { o.version = version } }

// WithTenant limits the worker to the jobs of a tenant. It needs a key for all tenants; with any other
// key, the worker has the jobs of the key's own tenant.
func WithTenant(name string) WorkerOption { return func(o *workerOptions) { o.tenant = name } }

// WithLogger sets where the worker logs; [slog.Default] by default.
func WithLogger(log *slog.Logger) WorkerOption { return func(o *workerOptions) { o.log = log } }

// WithoutSignals leaves SIGTERM and SIGINT alone: only the context stops the worker.
func WithoutSignals() WorkerOption { return func(o *workerOptions) { o.signals = nil } }

// NewWorker returns a worker for the kinds that have handlers.
func NewWorker(client *Client, handlers *Handlers, options ...WorkerOption) (*Worker, error) {
	host, _ := os.Hostname()
	w := &Worker{
		client:   client,
		handlers: handlers,
		held:     newHeldClaims(),
		stopping: make(chan struct{}),
		options: workerOptions{
			name:        fmt.Sprintf("%s-%d-%04x", host, os.Getpid(), rand.N(1<<16)),
			version:     buildVersion(),
			concurrency: defaultConcurrency,
			grace:       defaultGrace,
			log:         slog.Default(),
			signals:     []os.Signal{syscall.SIGTERM, os.Interrupt},
		},
	}
	for _, option := range options {
		option(&w.options)
	}
	if len(handlers.byKind) == 0 {
		return nil, errors.New("the worker has no handlers: add one with steadfast.Handle")
	}
	if len(handlers.byKind) > kindsMax {
		return nil, fmt.Errorf("the worker has handlers of %d kinds: the limit is %d, so start several workers", len(handlers.byKind), kindsMax)
	}
	if w.options.concurrency < 1 {
		return nil, fmt.Errorf("the concurrency must be at least 1, not %d", w.options.concurrency)
	}
	w.settler = &settler{client: client, held: w.held, log: w.options.log, wake: make(chan struct{}, 1)}
	w.beats = &heartbeats{client: client, held: w.held, worker: w.options.name, lease: w.options.lease, log: w.options.log}
	unsettled := max(w.options.concurrency, unsettledMax)
	w.slots = &slots{
		total:     w.options.concurrency,
		freed:     make(chan struct{}, 1),
		isBlocked: func() bool { return w.settler.pending() > unsettled },
	}
	w.settler.isClaimDue = w.slots.isClaimDue
	return w, nil
}

// Run claims and runs jobs until the context ends or SIGTERM or SIGINT arrives. Then it claims
// nothing more, lets running jobs finish within the grace, gives the rest back uncounted, and
// returns nil. A second signal makes it return [ErrForced] at once.
//
// A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if w.hasRun.Swap(true) {
		return errors.New("a worker can run only once: create another one")
	}
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 2)
	if len(w.options.signals) > 0 {
		signal.Notify(signals, w.options.signals...)
		defer signal.Stop(signals)
	}
	// Requests and handlers outlive the context: they end in order.
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	done := make(chan error, 1)
	go func() { done <- w.runUntil(stopping, working) }()
	for {
		select {
		case err := <-done:
			return err
		case received := <-signals:
			if stopping.Err() != nil {
				return ErrForced
			}
			w.options.log.Info("worker stops", "signal", received.String(), "grace", w.options.grace)
			stop()
		}
	}
}

func (w *Worker) runUntil(stopping, working context.Context) error {
	var once sync.Once
	tellHandlers := func() { once.Do(func() { close(w.stopping) }) }
	context.AfterFunc(stopping, tellHandlers)
	go w.settler.run(working)
	go w.beats.run(working)
	err := w.newClaimer(working).run(stopping)
	tellHandlers()
	w.drain()
	if err != nil {
		return fmt.Errorf("the worker cannot start: %w", err)
	}
	return nil
}

// drain lets running handlers finish, gives back what is left, and reports everything.
func (w *Worker) drain() {
	finished := make(chan struct{})
	go func() {
		w.running.Wait()
		close(finished)
	}()
	if !waitFor(finished, w.options.grace) {
		running := w.held.unsettled()
		w.options.log.Warn("the grace period is over: releasing jobs", "jobs", ids(running))
		for _, c := range running {
			c.abort(ErrStopped)
		}
		if !waitFor(finished, abortWait) {
			deaf := w.held.unsettled()
			w.options.log.Warn("handlers ignore the end of their context", "jobs", ids(deaf))
			w.release(deaf)
		}
	}
	for deadline := time.Now().Add(flushWait); w.settler.pending() > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if left := w.settler.pending(); left > 0 {
		w.options.log.Error("outcomes could not be reported before the worker ended", "jobs", left)
	}
}

func waitFor(finished <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-finished:
		return true
	case <-timer.C:
		return false
	}
}

func (w *Worker) newClaimer(working context.Context) *claimer {
	host, _ := os.Hostname()
	c := &claimer{
		client:  w.client,
		slots:   w.slots,
		settler: w.settler,
		session: api.ClaimSession{ID: fmt.Sprintf("%016x", rand.Uint64())},
		log:     w.options.log,
		request: api.ClaimJobsRequest{
			Worker:   w.options.name,
			Queues:   w.options.queues,
			Tenant:   w.options.tenant,
			Kinds:    w.handlers.Kinds(),
			Confirms: w.handlers.Confirms(),
			Wait:     api.Ptr(api.Duration(pollWait)),
			WorkerInfo: &api.WorkerInfo{
				Version: w.options.version, Host: host, Concurrency: &w.options.concurrency, Library: library,
			},
		},
		start:   func(claims []*claim) { w.start(working, claims) },
		release: w.release,
		newClaim: func(entry api.Claim, received time.Time) *claim {
			lease := w.options.lease
			if lease == 0 {
				lease = time.Duration(entry.Job.LeaseMs) * time.Millisecond
			}
			made := &claim{job: &entry.Job, fence: entry.Fence, lease: lease, client: w.client, held: w.held, ctx: working, abort: func(error) {}}
			made.renewed(received)
			return made
		},
	}
	if w.options.lease > 0 {
		c.request.Lease = api.Ptr(api.Duration(w.options.lease))
	}
	if w.client.ownsHTTP {
		c.connection = newClaimConnection(w.client.trusted)
	}
	return c
}

func ids(claims []*claim) []string {
	ids := make([]string, len(claims))
	for i, c := range claims {
		ids[i] = c.job.ID
	}
	return ids
}

func (w *Worker) release(claims []*claim) {
	for _, c := range claims {
		w.settler.add(c, Outcome{Verb: Release}, func() {})
	}
}

func (w *Worker) start(working context.Context, claims []*claim) {
	for _, c := range claims {
		c.ctx, c.abort = context.WithCancelCause(working)
	}
	w.slots.take(len(claims))
	w.held.add(claims)
	w.running.Add(len(claims))
	for _, c := range claims {
		go func() {
			defer w.running.Done()
			w.execute(c)
		}()
	}
}

// execute runs the handler of a claim and reports how it ended.
func (w *Worker) execute(c *claim) {
	defer c.abort(nil)
	ctx := context.WithValue(c.ctx, stoppingKey{}, w.stopping)
	if c.job.Traceparent != "" {
		ctx = WithTraceparent(ctx, c.job.Traceparent)
	}
	if c.job.TimeoutMs != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(*c.job.TimeoutMs)*time.Millisecond, ErrTimeout)
		defer cancel()
	}
	outcome := w.handlers.Execute(ctx, c.job, c)
	if outcome.Verb == Release {
		w.options.log.Error("job released: this worker has no handler of its kind", "job", c.job.ID, "kind", c.job.Kind)
	}
	if outcome.Verb == Fail {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrLeaseLost):
			w.held.remove(c)
			w.slots.giveBack()
			return
		case errors.Is(cause, ErrStopped):
			outcome = Outcome{Verb: Release}
		case errors.Is(cause, ErrCancelled):
			outcome.Failure = stoppedFailure("cancelled", outcome.Failure)
		case errors.Is(cause, ErrTimeout):
			outcome.Failure = stoppedFailure("timeout", outcome.Failure)
		}
		w.logFailure(c, outcome)
	}
	if c.hasReport() {
		w.beats.send(context.WithoutCancel(ctx), []*claim{c})
	}
	w.settler.add(c, outcome, w.slots.giveBack)
}

func (w *Worker) logFailure(c *claim, outcome Outcome) {
	if outcome.Failure != nil {
		w.options.log.Warn("job failed", "job", c.job.ID, "kind", c.job.Kind, "attempt", c.job.Attempt,
			"class", outcome.Failure.Class, "error", outcome.Failure.Message)
	}
}

func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}
