package steadfast_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
	"steadfast.example/steadfast/steadfasttest"
)

func TestAJobThatFailsTwiceSucceedsAfterItsDelays(t *testing.T) {
	server := steadfasttest.StartServer(t)
	handlers := steadfast.NewHandlers()
	steadfast.HandleWithResult(handlers, func(_ context.Context, job *steadfast.Job[Invoice]) (string, error) {
		if job.Attempt < 3 {
			return "", errors.New("not yet")
		}
		return "done", nil
	})
	server.StartWorker(handlers)
	ctx := context.Background()
	policy := api.RetryPolicyFields{
		MaxRetries: api.Ptr(2), Backoff: api.BackoffExponential,
		BaseDelay: api.Ptr(api.Duration(time.Second)), Jitter: api.JitterNone,
	}
	job, err := server.Client.Enqueue(ctx, Invoice{Order: 7}, steadfast.Retry(policy))
	if err != nil {
		t.Fatal(err)
	}
	for _, delay := range []time.Duration{time.Second, 2 * time.Second} {
		server.RunUntilIdle()
		now, err := server.Client.GetJob(ctx, job.ID, api.GetJobParams{})
		if err != nil || now.Label != api.JobLabelRetrying {
			t.Fatalf("%+v, %v", now, err)
		}
		server.Advance(delay)
	}
	ended, err := server.Client.Wait(ctx, job.ID)
	if err != nil || ended.Label != api.JobLabelSucceeded || ended.Attempt != 3 {
		t.Fatalf("%+v, %v", ended, err)
	}
}

func TestAHandlerThatIgnoresItsAbortIsGivenBack(t *testing.T) {
	server := steadfasttest.StartServer(t)
	handlers := steadfast.NewHandlers()
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	steadfast.Handle(handlers, func(context.Context, *steadfast.Job[Invoice]) error {
		close(started)
		<-release
		return nil
	})
	logged := &strings.Builder{}
	worker, err := steadfast.NewWorker(server.Client, handlers, steadfast.WithGrace(time.Millisecond), steadfast.WithoutSignals(),
		steadfast.WithLogger(slog.New(slog.NewTextHandler(logged, nil))))
	check(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	job, err := server.Client.Enqueue(context.Background(), Invoice{Order: 7})
	check(t, err)
	<-started
	stop()
	check(t, <-ended)
	now, err := server.Client.GetJob(context.Background(), job.ID, api.GetJobParams{})
	check(t, err)
	if now.Label != api.JobLabelReady || now.Attempt != 0 {
		t.Errorf("the job is %s after %d attempts", now.Label, now.Attempt)
	}
	for _, words := range []string{"releasing jobs", "handlers ignore the end of their context"} {
		if line := words + `" jobs=[` + job.ID + "]"; !strings.Contains(logged.String(), line) {
			t.Errorf("%q is not in the log:\n%s", line, logged)
		}
	}
}

func TestTheRestOfTheAPI(t *testing.T) {
	server := steadfasttest.StartServer(t)
	client, ctx := server.Client, context.Background()
	request, err := steadfast.NewJob(Invoice{Order: 1}, steadfast.Delay(time.Hour),
		steadfast.ConcurrencyKey("c-1"), steadfast.Destination("https://api.example.com"))
	check(t, err)
	jobs, err := client.EnqueueMany(ctx, request, request, request)
	check(t, err)
	count := 0
	for job, err := range client.AllJobs(ctx, api.ListJobsParams{Queue: "billing", Limit: 2}) {
		check(t, err)
		count++
		if job.ConcurrencyKey != "c-1" || job.Destination != "https://api.example.com" {
			t.Errorf("%+v", job)
		}
		if job.Label != api.JobLabelScheduled {
			t.Errorf("%s is %s", job.ID, job.Label)
		}
	}
	if count != 3 {
		t.Errorf("%d jobs on pages of 2", count)
	}
	cancelled, err := client.CancelJob(ctx, jobs[0].ID)
	check(t, err)
	if cancelled.Label != api.JobLabelCancelled {
		t.Errorf("%s", cancelled.Label)
	}
	template, err := steadfast.NewJob(Invoice{Order: 2})
	check(t, err)
	schedule, err := client.CreateSchedule(ctx, api.CreateScheduleRequest{Name: "hourly", Schedule: "0 * * * *", Job: template})
	check(t, err)
	_, err = client.PauseSchedule(ctx, schedule.ID)
	check(t, err)
	check(t, client.DeleteSchedule(ctx, schedule.ID))
	check(t, client.PauseQueue(ctx, "billing", api.PauseQueueParams{}, api.PauseQueueRequest{}))
	queues, err := client.ListQueues(ctx, api.ListQueuesParams{})
	check(t, err)
	if len(queues.Queues) != 1 || !queues.Queues[0].Paused {
		t.Errorf("%+v", queues)
	}
	gate, err := client.SetGate(ctx, "kind", "invoice", api.SetGateParams{}, api.SetGateRequest{MaxRunning: api.Ptr(5)})
	check(t, err)
	if gate.MaxRunning == nil || *gate.MaxRunning != 5 {
		t.Errorf("%+v", gate)
	}
	check(t, client.DeleteGate(ctx, "kind", "invoice", api.DeleteGateParams{}))
	endpoint, err := client.CreateEndpoint(ctx, api.CreateEndpointRequest{URL: "http://127.0.0.1:1/"})
	check(t, err)
	if !strings.HasPrefix(endpoint.Secret, "whsec_") {
		t.Errorf("%+v", endpoint)
	}
	preview, err := client.PreviewPolicy(ctx, api.PreviewPolicyRequest{Retry: api.PresetPatient})
	check(t, err)
	if len(preview.Attempts) != 4 {
		t.Errorf("%+v", preview)
	}
	_, err = client.GetStats(ctx, api.GetStatsParams{})
	check(t, err)
	_, err = client.ListAlerts(ctx, api.ListAlertsParams{})
	check(t, err)
	var refused *api.Error
	if _, err := client.GetJob(ctx, "job_00000000000000000000000000", api.GetJobParams{}); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("%v", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
