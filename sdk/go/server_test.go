package steadfast_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
		now, err := server.Client.GetJob(ctx, job.ID)
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

func TestTheRestOfTheAPI(t *testing.T) {
	server := steadfasttest.StartServer(t)
	client, ctx := server.Client, context.Background()
	request, err := steadfast.NewJob(Invoice{Order: 1}, steadfast.Delay(time.Hour))
	check(t, err)
	jobs, err := client.EnqueueMany(ctx, request, request, request)
	check(t, err)
	count := 0
	for job, err := range client.AllJobs(ctx, api.ListJobsParams{Queue: "billing", Limit: 2}) {
		check(t, err)
		count++
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
	schedule, err := client.CreateSchedule(ctx, api.CreateScheduleRequest{Name: "hourly", Schedule: "0 * * * *", Job: request})
	check(t, err)
	_, err = client.PauseSchedule(ctx, schedule.ID)
	check(t, err)
	check(t, client.DeleteSchedule(ctx, schedule.ID))
	check(t, client.PauseQueue(ctx, "billing", api.PauseQueueParams{}))
	queues, err := client.ListQueues(ctx, api.ListQueuesParams{})
	check(t, err)
	if len(queues.Queues) != 1 || !queues.Queues[0].Paused {
		t.Errorf("%+v", queues)
	}
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
	if _, err := client.GetJob(ctx, "job_00000000000000000000000000"); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("%v", err)
	}
}

// The first code of the README is a whole program. It is compiled in an empty project and run.
func TestTheProgramOfTheReadme(t *testing.T) {
	server := steadfasttest.StartServer(t)
	readme, err := os.ReadFile("README.md")
	check(t, err)
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, _ := strings.Cut(rest, "```")
	library, err := filepath.Abs(".")
	check(t, err)
	directory := t.TempDir()
	check(t, os.WriteFile(filepath.Join(directory, "main.go"), []byte(program), 0o644))
	module := "module welcome\n\ngo 1.24\n\nrequire steadfast.example/steadfast v0.0.0\n\nreplace steadfast.example/steadfast => " + library + "\n"
	check(t, os.WriteFile(filepath.Join(directory, "go.mod"), []byte(module), 0o644))
	build := exec.Command("go", "build", "-o", "welcome", ".")
	build.Dir = directory
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}

	run := exec.Command(filepath.Join(directory, "welcome"))
	run.Env = append(os.Environ(), "STEADFAST_URL="+server.Client.URL, "STEADFAST_API_KEY=")
	output := &strings.Builder{}
	run.Stdout, run.Stderr = output, output
	check(t, run.Start())
	deadline := time.Now().Add(20 * time.Second)
	for {
		list, err := server.Client.ListJobs(context.Background(), api.ListJobsParams{Kind: "welcome", Label: api.JobLabelSucceeded})
		check(t, err)
		if len(list.Jobs) == 1 {
			break
		}
		if time.Now().After(deadline) {
			run.Process.Kill()
			run.Wait()
			t.Fatalf("the job did not succeed: %s", output)
		}
		time.Sleep(10 * time.Millisecond)
	}
	run.Process.Signal(syscall.SIGTERM)
	if err := run.Wait(); err != nil || !strings.Contains(output.String(), "Welcome, ada@example.com") {
		t.Errorf("%v: %s", err, output)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
