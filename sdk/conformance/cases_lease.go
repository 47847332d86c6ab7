package main

import "time"

const shortLease = 1500 * time.Millisecond

var leaseCases = []testCase{
	{
		name:     "heartbeat-while-blocked",
		sentence: "a handler that blocks its thread or event loop for longer than the lease keeps its claim",
		worker:   workerOptions{lease: 2 * time.Second},
		run: func(t *test) {
			t.startWorker()
			id := t.create("block", ms(5000))
			t.succeeded(id)
			t.onlyAttempt(id)
		},
	},
	{
		name:     "heartbeats-together",
		sentence: "one heartbeat renews all claims",
		worker:   workerOptions{lease: shortLease, concurrency: 20},
		run: func(t *test) {
			t.startWorker()
			ids := t.createMany("sleep", ms(3000), 20)
			t.succeeded(ids...)
			for _, id := range ids {
				t.onlyAttempt(id)
			}
			beats := len(t.proxy.matching(heartbeatPath, time.Time{}))
			t.figure("%d heartbeat requests for 20 claims of 3 s with a lease of %v", beats, shortLease)
			t.check(beats >= 2 && beats <= 20, "%d heartbeat requests for 20 claims", beats)
		},
	},
	{
		name:     "stale-fence-aborts",
		sentence: "a claim that has expired aborts its handler, and reports nothing",
		worker:   workerOptions{lease: shortLease},
		run: func(t *test) {
			t.startWorker()
			id := t.create("sleep", ms(60_000))
			t.started(id)
			t.call("POST", "/claims/"+id+"/snooze", fields{"fence": t.fenceOf(id), "delay": "1h"}, &job{})
			t.aborted(id)
			t.succeeded(t.create("noop", nil))
			only := t.onlyAttempt(id)
			t.check(only.Status == "SNOOZED", "the attempt is %s", only.Status)
		},
	},
	{
		name:     "lost-lease-aborts",
		sentence: "a worker whose heartbeats do not get through aborts the handler when the lease is over",
		worker:   workerOptions{lease: shortLease},
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(heartbeatPath, cutBefore, 0)
			t.lostLease()
		},
	},
	{
		name:     "clock-behind",
		sentence: "leases hold and expire as they should on a worker whose clock is an hour behind",
		worker:   workerOptions{lease: shortLease},
		run:      func(t *test) { t.clockOff(time.Hour) },
	},
	{
		name:     "clock-ahead",
		sentence: "leases hold and expire as they should on a worker whose clock is an hour ahead",
		worker:   workerOptions{lease: shortLease},
		run:      func(t *test) { t.clockOff(-time.Hour) },
	},
	{
		name:     "cancel",
		sentence: "a cancel reaches the handler, and the job ends as cancelled",
		worker:   workerOptions{lease: shortLease},
		run: func(t *test) {
			t.startWorker()
			id := t.create("sleep", ms(60_000))
			t.started(id)
			t.call("POST", "/jobs/"+id+"/cancel", nil, &job{})
			t.aborted(id)
			t.labelled(id, "cancelled")
			t.onlyAttempt(id)
		},
	},
	{
		name:     "timeout",
		sentence: "a job that is over its timeout aborts the handler, and fails with class timeout",
		worker:   workerOptions{lease: shortLease},
		run: func(t *test) {
			t.startWorker()
			id := t.createWith("sleep", ms(60_000), fields{"timeout": "1s", "maxRetries": 0, "retry": nil})
			t.aborted(id)
			failed := t.labelled(id, "failed")
			t.check(failed.Failure.Class == "timeout", "the class is %q", failed.Failure.Class)
		},
	},
}

func (t *test) aborted(id string) {
	t.ended(id)
	end := t.worker.find("end", id)[0]
	t.check(end.Outcome == "aborted", "the handler ended with %q instead of \"aborted\"", end.Outcome)
}

// lostLease checks that a handler does not run on after its lease.
func (t *test) lostLease() {
	id := t.createWith("sleep", ms(60_000), fields{"retry": "patient"})
	t.started(id)
	t.aborted(id)
	took := t.worker.find("end", id)[0].at.Sub(t.worker.find("start", id)[0].at)
	t.figure("aborted %v after its start, with a lease of %v", took.Round(time.Millisecond), shortLease)
	t.check(took > shortLease/2, "the handler was aborted before its lease was over")
	t.check(took < shortLease+3*time.Second, "the handler ran on after its lease was over")
}

// clockOff plays a wrong clock of the worker by moving all times of the server.
func (t *test) clockOff(by time.Duration) {
	t.startProxy()
	t.proxy.shiftTimes(by)
	t.startWorker()
	id := t.create("sleep", ms(3500))
	t.succeeded(id)
	t.onlyAttempt(id)
	beats := len(t.proxy.matching(heartbeatPath, time.Time{}))
	t.check(beats >= 2 && beats <= 20, "%d heartbeats for a claim of 3.5 s with a lease of %v", beats, shortLease)
	t.proxy.add(heartbeatPath, cutBefore, 0)
	t.lostLease()
}
