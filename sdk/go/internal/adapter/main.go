// Command adapter runs a worker of this library for the conformance program: see sdk/README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

type milliseconds struct {
	Ms int `json:"ms"`
}

func (m milliseconds) duration() time.Duration { return time.Duration(m.Ms) * time.Millisecond }

type (
	noop     struct{}
	echo     struct{ json.RawMessage }
	sleep    struct{ milliseconds }
	block    struct{ milliseconds }
	snooze   struct{ milliseconds }
	progress struct{}
	spawn    struct{}
	fail     struct {
		Class, Message string
		RetryAfterMs   int
		Permanent      bool
	}
	typed struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
	}
	charge struct{ Answer string }
	limit  struct {
		Key, Origin string
	}
	limited struct {
		MaxRunning int    `json:"maxRunning"`
		Reason     string `json:"reason"`
	}
	gather  struct{}
	flow    struct{}
	enqueue struct {
		Options map[string]json.RawMessage
	}
	once struct {
		FailFirst bool `json:"fail_first"`
	}
	logging struct {
		milliseconds
		Lines int
	}
)

func (noop) Kind() string     { return "noop" }
func (echo) Kind() string     { return "echo" }
func (sleep) Kind() string    { return "sleep" }
func (block) Kind() string    { return "block" }
func (snooze) Kind() string   { return "snooze" }
func (progress) Kind() string { return "progress" }
func (spawn) Kind() string    { return "spawn" }
func (fail) Kind() string     { return "fail" }
func (typed) Kind() string    { return "typed" }
func (once) Kind() string     { return "once" }
func (limit) Kind() string    { return "limit" }
func (gather) Kind() string   { return "gather" }
func (flow) Kind() string     { return "flow" }
func (enqueue) Kind() string  { return "enqueue" }
func (charge) Kind() string   { return "charge" }
func (logging) Kind() string  { return "log" }

// UnmarshalJSON accepts any payload, as does that of spawn and progress.
func (*noop) UnmarshalJSON([]byte) error     { return nil }
func (*spawn) UnmarshalJSON([]byte) error    { return nil }
func (*progress) UnmarshalJSON([]byte) error { return nil }

var output sync.Mutex

func emit(event map[string]any) {
	line, _ := json.Marshal(event)
	output.Lock()
	defer output.Unlock()
	fmt.Printf("%s\n", line)
}

// announce writes the events around every handler.
func announce(next steadfast.Handler) steadfast.Handler {
	return func(ctx context.Context, job *api.Job) (any, error) {
		emit(map[string]any{"event": "start", "job": job.ID, "kind": job.Kind, "attempt": job.Attempt})
		result, err := next(ctx, job)
		outcome := "success"
		if err != nil {
			outcome = "error"
			if ctx.Err() != nil {
				outcome = "aborted"
			}
		}
		emit(map[string]any{"event": "end", "job": job.ID, "outcome": outcome})
		return result, err
	}
}

func handlers(client *steadfast.Client, queue string) *steadfast.Handlers {
	all := steadfast.NewHandlers()
	all.Use(announce)
	steadfast.Handle(all, func(context.Context, *steadfast.Job[noop]) error { return nil })
	steadfast.HandleWithResult(all, func(_ context.Context, job *steadfast.Job[echo]) (json.RawMessage, error) {
		return job.Payload.RawMessage, nil
	})
	steadfast.HandleWithResult(all, func(_ context.Context, job *steadfast.Job[typed]) (typed, error) {
		return job.Payload, nil
	})
	steadfast.Handle(all, func(ctx context.Context, job *steadfast.Job[sleep]) error {
		select {
		case <-time.After(job.Payload.duration()):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[block]) error {
		for end := time.Now().Add(job.Payload.duration()); time.Now().Before(end); {
		}
		return nil
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[snooze]) error {
		return steadfast.Snooze(job.Payload.duration())
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[fail]) error {
		err := steadfast.WithClass(job.Payload.Class, errors.New(job.Payload.Message))
		if job.Payload.Permanent {
			err = steadfast.Permanent(err)
		}
		return steadfast.RetryAfter(err, time.Duration(job.Payload.RetryAfterMs)*time.Millisecond)
	})
	steadfast.HandleWithResult(all, func(ctx context.Context, job *steadfast.Job[once]) (int, error) {
		charged, err := steadfast.Once(ctx, "charge", func(context.Context) (int, error) {
			emit(map[string]any{"event": "step", "job": job.ID})
			return 42, nil
		})
		if err == nil && job.Payload.FailFirst && job.Attempt == 1 {
			err = errors.New("the first attempt fails")
		}
		return charged, err
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[charge]) error {
		emit(map[string]any{"event": "step", "job": job.ID})
		if job.Attempt == 1 {
			return steadfast.WithClass("timeout", errors.New("no answer from the bank"))
		}
		return nil
	})
	steadfast.HandleConfirm(all, func(_ context.Context, job *steadfast.Job[charge]) (steadfast.Confirmation, error) {
		switch job.Payload.Answer {
		case "done":
			return steadfast.Done(map[string]bool{"found": true}), nil
		case "not_done":
			return steadfast.NotDone(), nil
		case "unknown":
			return steadfast.StillUnknown(), nil
		}
		return steadfast.Confirmation{}, errors.New(job.Payload.Answer)
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[progress]) error {
		job.Report(50, "half")
		return nil
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[spawn]) error {
		return job.OnSuccess(noop{}, steadfast.Queue(queue))
	})
	steadfast.HandleWithResult(all, func(ctx context.Context, job *steadfast.Job[limit]) (limited, error) {
		return setLimit(ctx, client, job.Payload)
	})
	steadfast.HandleWithResult(all, func(ctx context.Context, job *steadfast.Job[enqueue]) (map[string]string, error) {
		var options []steadfast.EnqueueOption
		for name, value := range job.Payload.Options {
			option, err := optionOf(name, value)
			if err != nil {
				return nil, err
			}
			options = append(options, option)
		}
		made, err := client.Enqueue(ctx, noop{}, options...)
		if err != nil {
			return nil, err
		}
		return map[string]string{"id": made.ID}, nil
	})
	steadfast.HandleWithResult(all, func(ctx context.Context, _ *steadfast.Job[gather]) ([]json.RawMessage, error) {
		found, err := steadfast.Prerequisites(ctx)
		results := make([]json.RawMessage, len(found))
		for i, prerequisite := range found {
			results[i] = prerequisite.Result
		}
		return results, err
	})
	steadfast.HandleWithResult(all, func(ctx context.Context, _ *steadfast.Job[flow]) (map[string]string, error) {
		return createFlow(ctx, client, queue)
	})
	steadfast.Handle(all, func(_ context.Context, job *steadfast.Job[logging]) error {
		for number := range job.Payload.Lines {
			job.Log(slog.LevelInfo, fmt.Sprintf("line %d", number))
			time.Sleep(job.Payload.duration())
		}
		job.Log(slog.LevelWarn, "the last line")
		return nil
	})
	return all
}

// createFlow creates two jobs in one call, of which the second waits for the first.
func createFlow(ctx context.Context, client *steadfast.Client, queue string) (map[string]string, error) {
	first, err := steadfast.NewJob(echo{json.RawMessage(`{"n":1}`)}, steadfast.Queue(queue), steadfast.Ref("first"))
	if err != nil {
		return nil, err
	}
	last, err := steadfast.NewJob(gather{}, steadfast.Queue(queue), steadfast.After("ref:first"))
	if err != nil {
		return nil, err
	}
	made, err := client.EnqueueMany(ctx, first, last)
	if err != nil {
		return nil, err
	}
	return map[string]string{"id": made[1].ID}, nil
}

func setLimit(ctx context.Context, client *steadfast.Client, payload limit) (result limited, err error) {
	three := api.SetGateRequest{MaxRunning: api.Ptr(3)}
	if _, err = client.SetGate(ctx, api.GateScopeKey, payload.Key, api.SetGateParams{}, three); err != nil {
		return result, err
	}
	reason := api.HoldDestinationRequest{Reason: "conformance"}
	if _, err = client.HoldDestination(ctx, payload.Origin, reason); err != nil {
		return result, err
	}
	gate, err := client.GetGate(ctx, api.GateScopeKey, payload.Key, api.GetGateParams{})
	if err != nil {
		return result, err
	}
	destination, err := client.GetDestination(ctx, payload.Origin, api.GetDestinationParams{})
	if err != nil {
		return result, err
	}
	if gate.MaxRunning == nil || destination.HeldByHand == nil {
		return result, errors.New("the limit or the hold is missing")
	}
	return limited{*gate.MaxRunning, destination.HeldByHand.Reason}, nil
}

func main() {
	concurrency, err := strconv.Atoi(os.Getenv("CONCURRENCY"))
	check(err)
	grace, err := api.ParseDuration(os.Getenv("GRACE"))
	check(err)
	lease, err := api.ParseDuration(os.Getenv("LEASE"))
	check(err)
	client, err := steadfast.NewClient() // STEADFAST_URL, STEADFAST_API_KEY
	check(err)
	queue := os.Getenv("QUEUE")
	if count, err := strconv.Atoi(os.Getenv("ENQUEUE")); err == nil {
		enqueueMany(client, queue, count, concurrency)
		return
	}
	worker, err := steadfast.NewWorker(client, handlers(client, queue), steadfast.WithQueues(queue),
		steadfast.WithConcurrency(concurrency), steadfast.WithGrace(grace), steadfast.WithLease(lease))
	check(err)
	emit(map[string]any{"event": "ready"})
	check(worker.Run(context.Background()))
	emit(map[string]any{"event": "stopped"})
}

// enqueueMany is for measurements: it enqueues jobs one by one, some at a time.
func enqueueMany(client *steadfast.Client, queue string, count, atOnce int) {
	start := time.Now()
	var left atomic.Int64
	left.Store(int64(count))
	var group sync.WaitGroup
	for range atOnce {
		group.Add(1)
		go func() {
			defer group.Done()
			for left.Add(-1) >= 0 {
				_, err := client.Enqueue(context.Background(), noop{}, steadfast.Queue(queue))
				check(err)
			}
		}()
	}
	group.Wait()
	emit(map[string]any{"event": "enqueued", "seconds": time.Since(start).Seconds()})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
