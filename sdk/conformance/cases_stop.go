package main

import (
	"bytes"
	"strings"
	"time"
)

var stopCases = []testCase{
	{
		name:     "stop-when-idle",
		sentence: "an idle worker waits in one long poll, sends its key, and SIGTERM ends it at once",
		run: func(t *test) {
			t.startWorker()
			t.until("a claim request", func() bool { return len(t.proxy.matching(claimPath, time.Time{})) > 0 })
			time.Sleep(time.Second)
			claims := t.proxy.matching(claimPath, time.Time{})
			t.check(len(claims) <= 2, "an idle worker sent %d claim requests within a second", len(claims))
			for _, e := range t.proxy.log() {
				t.check(e.key == "Bearer "+apiKey, "%s %s had the authorization %q", e.method, e.path, e.key)
			}
			t.worker.terminate()
			t.exits(4 * time.Second)
		},
	},
	{
		name:     "stop-finishes-work",
		sentence: "SIGTERM: no further claim; what ends within the grace is settled; the rest is given back uncounted, at once",
		worker:   workerOptions{grace: 2 * time.Second, concurrency: 5},
		run: func(t *test) {
			t.startWorker()
			short := []string{t.create("sleep", ms(900)), t.create("sleep", ms(1000))}
			long := t.create("sleep", ms(60_000))
			for _, id := range append(short, long) {
				t.started(id)
			}
			stop := time.Now()
			t.worker.terminate()
			time.Sleep(500 * time.Millisecond)
			late := t.create("noop", nil)
			t.exits(12 * time.Second)
			for _, id := range short {
				t.check(t.job(id).Label == "succeeded", "work that ended within the grace is %s", t.job(id).Label)
				t.onlyAttempt(id)
			}
			t.givenBack(long)
			ends := t.worker.find("end", long)
			t.check(len(ends) == 1 && ends[0].Outcome == "aborted", "the handler beyond the grace was not aborted: %+v", ends)
			t.check(t.worker.count("start", late) == 0, "a job that came after SIGTERM was started")
			t.check(t.job(late).Label == "ready", "a job that came after SIGTERM is %s", t.job(late).Label)
			claims := t.proxy.matching(claimPath, stop.Add(500*time.Millisecond))
			t.check(len(claims) == 0, "%d claim requests came after SIGTERM", len(claims))
		},
	},
	{
		name:     "stop-gives-back-claims",
		sentence: "jobs whose claim is answered after SIGTERM are not started; if the answer arrives they are given back at once",
		worker:   workerOptions{concurrency: 2},
		run: func(t *test) {
			t.startProxy()
			held := t.proxy.addFault(&fault{path: pattern(claimPath), action: delayAnswer, delay: 500 * time.Millisecond, answer: hasClaims, left: 1})
			t.startWorker()
			id := t.create("noop", nil)
			t.until("the claim", func() bool { return t.proxy.hits(held) > 0 })
			t.worker.terminate()
			t.exits(10 * time.Second)
			t.check(t.worker.count("start", id) == 0, "the job was started after SIGTERM")
			for _, e := range t.proxy.matching(settlePath, time.Time{}) {
				if bytes.Contains(e.body, []byte(id)) || strings.Contains(e.path, id) {
					t.givenBack(id)
					return
				}
			}
			t.figure("the worker closed the connection of its claim, so the job waits for its lease to expire")
		},
	},
	{
		name:     "second-signal",
		sentence: "a second SIGTERM ends the process at once, not with 0",
		worker:   workerOptions{grace: time.Minute},
		run: func(t *test) {
			t.startWorker()
			id := t.create("sleep", ms(60_000))
			t.started(id)
			t.worker.terminate()
			time.Sleep(500 * time.Millisecond)
			t.check(!t.worker.ended(), "the first SIGTERM ended the worker although work was under way")
			t.worker.terminate()
			t.untilWithin(3*time.Second, "the end of the worker", t.worker.ended)
			t.check(t.worker.exit != nil, "the worker exited with 0 although it dropped work")
		},
	},
	{
		name:     "stop-while-server-away",
		sentence: "SIGTERM ends a worker also while the server is away",
		worker:   workerOptions{grace: time.Second},
		run: func(t *test) {
			t.startWorker()
			id := t.create("sleep", ms(60_000))
			t.started(id)
			t.proxy.setAway(true)
			t.worker.terminate()
			t.untilWithin(12*time.Second, "the end of the worker", t.worker.ended)
		},
	},
}

// givenBack checks that a job is due again and that its attempt was not counted.
func (t *test) givenBack(id string) {
	now := t.job(id)
	t.check(now.Label == "ready", "the job is %s instead of given back (%+v)", now.Label, t.history(id))
	t.check(now.RetryCount == 0 && now.Attempt == 0, "the attempt was counted: attempt %d, retry count %d", now.Attempt, now.RetryCount)
}
