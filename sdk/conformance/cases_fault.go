package main

import (
	"regexp"
	"time"
)

// Requests by what they do; a library may settle one by one or many at once.
const (
	claimPath     = `/claims$`
	heartbeatPath = `/claims/(.+/)?heartbeat$`
	settlePath    = `/claims/(settle|.+/(succeed|fail|snooze|release))$`
)

var pattern = regexp.MustCompile

func ms(n int) fields { return fields{"ms": n} }

var faultCases = []testCase{
	{
		name:     "vanished-claim",
		sentence: "a claim that is never answered is given up some time after its wait (only with --long)",
		run: func(t *test) {
			if !t.run.long {
				return
			}
			t.startProxy()
			t.proxy.add(claimPath, blackHole, 1)
			t.startWorker()
			id := t.create("noop", nil)
			t.untilWithin(90*time.Second, "the job being started", func() bool { return t.worker.count("start", id) > 0 })
		},
	},
	{
		name:     "lost-heartbeat-answer",
		sentence: "a lost answer to a heartbeat ends nothing: the next one is in time",
		worker:   workerOptions{lease: 3 * time.Second},
		run: func(t *test) {
			t.startWorker()
			lost := t.proxy.add(heartbeatPath, cutAfter, 2)
			id := t.create("sleep", ms(4500))
			t.succeeded(id)
			t.onlyAttempt(id)
			t.check(t.proxy.hits(lost) == 2, "only %d heartbeats came", t.proxy.hits(lost))
		},
	},
	{
		name:     "vanished-heartbeat",
		sentence: "a heartbeat that is never answered is given up before the lease is over",
		worker:   workerOptions{lease: 6 * time.Second},
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(heartbeatPath, blackHole, 1)
			id := t.create("sleep", ms(7500))
			t.succeeded(id)
			t.onlyAttempt(id)
		},
	},
	{
		name:     "lost-settle-answer",
		sentence: "a settle whose answer was lost is repeated, and takes effect once",
		run: func(t *test) {
			t.startWorker()
			lost := t.proxy.add(settlePath, cutAfter, 3)
			// By their end the next claim waits for jobs, so that it takes no outcomes along.
			ids := t.createMany("sleep", ms(700), 5)
			t.until("three lost answers", func() bool { return t.proxy.hits(lost) == 3 })
			t.succeeded(ids...)
			for _, id := range ids {
				t.onlyAttempt(id)
				t.check(t.worker.count("start", id) == 1, "the handler started %d times", t.worker.count("start", id))
			}
		},
	},
	{
		name:     "unseen-settle",
		sentence: "a settle that never reached the server is repeated until it does",
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(settlePath, cutBefore, 3)
			ids := t.createMany("echo", fields{"n": 1}, 5)
			t.succeeded(ids...)
			for _, id := range ids {
				t.onlyAttempt(id)
			}
		},
	},
	{
		name:     "vanished-settle",
		sentence: "a settle that is never answered is repeated",
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(settlePath, blackHole, 1)
			id := t.create("noop", nil)
			t.succeeded(id)
			t.onlyAttempt(id)
		},
	},
	{
		name:     "server-busy",
		sentence: "a server that answers 503 is asked again with a backoff, and nothing is lost",
		run: func(t *test) {
			t.startWorker()
			id := t.create("sleep", ms(300))
			t.started(id)
			busy := t.proxy.add(`.`, unavailable, 0)
			t.ended(id)
			time.Sleep(2 * time.Second)
			t.check(t.proxy.hits(busy) <= 25, "%d requests within two seconds", t.proxy.hits(busy))
			t.proxy.remove(busy)
			t.succeeded(id, t.create("noop", nil))
			t.onlyAttempt(id)
		},
	},
	{
		name:     "too-many-requests",
		sentence: "a server that answers 429 is asked again no sooner than its Retry-After says, and nothing is lost",
		run: func(t *test) {
			t.startProxy()
			claims := t.proxy.add(claimPath, tooMany, 0)
			t.startWorker()
			t.until("two claims", func() bool { return t.proxy.hits(claims) >= 2 })
			t.proxy.remove(claims)
			settles := t.proxy.add(settlePath, tooMany, 2)
			id := t.create("noop", nil)
			t.succeeded(id)
			t.onlyAttempt(id)
			t.check(t.proxy.hits(settles) == 2, "%d settles were refused", t.proxy.hits(settles))
			for _, path := range []string{claimPath, settlePath} {
				var refused time.Time
				for _, e := range t.proxy.matching(path, time.Time{}) {
					pause := e.at.Sub(refused)
					t.check(refused.IsZero() || pause >= 1900*time.Millisecond, "%s came %v after a 429 that asked for 2 s", path, pause)
					if refused = (time.Time{}); e.status == 429 {
						refused = e.at
					}
				}
			}
		},
	},
	{
		name:     "refused-enqueues",
		sentence: "an enqueue that is refused with 429 or 503 is repeated no sooner than its Retry-After says, and creates one job",
		run: func(t *test) {
			t.startWorker()
			isOurs := func(e *exchange) bool { return bytes.Contains(e.body, []byte("refused")) }
			for action, times := range map[action]int{tooMany: 1, unavailable: 2} {
				t.proxy.addFault(&fault{path: pattern(`/jobs$`), method: http.MethodPost, action: action, left: times, request: isOurs})
			}
			id := t.create("enqueue", fields{"options": fields{"jobName": "x", "delay": "1h", "tags": fields{"refused": "yes"}}})
			t.succeeded(id)
			t.onlyAttempt(id)
			t.check(len(t.tagged("refused:yes")) == 1, "%d jobs were created", len(t.tagged("refused:yes")))
			asked := map[int]time.Duration{http.StatusTooManyRequests: 2 * time.Second, http.StatusServiceUnavailable: time.Second}
			var refused *exchange
			tries := 0
			for _, e := range t.proxy.matching(`/jobs$`, time.Time{}) {
				if e.method != http.MethodPost || !isOurs(&e) {
					continue
				}
				if tries++; refused != nil {
					pause, least := e.at.Sub(refused.at), asked[refused.status]
					t.check(pause >= least-100*time.Millisecond, "repeated %v after a %d that asked for %v", pause, refused.status, least)
				}
				refused = &e
			}
			t.check(tries == 4, "%d tries", tries)
		},
	},
	{
		name:     "server-does-not-wait",
		sentence: "claims that are answered at once without jobs cause no hot loop",
		run: func(t *test) {
			t.startProxy()
			early := t.proxy.add(claimPath, noJobs, 0)
			t.startWorker()
			time.Sleep(3 * time.Second)
			t.figure("%d claim requests in 3 s", t.proxy.hits(early))
			t.check(t.proxy.hits(early) <= 40, "%d claim requests within three seconds", t.proxy.hits(early))
			t.proxy.remove(early)
			t.succeeded(t.create("noop", nil))
		},
	},
	{
		name:     "server-restart",
		sentence: "a server killed and started again in mid-claim costs no attempt, and the worker goes on",
		run: func(t *test) {
			t.ownServer()
			t.startWorker()
			ids := t.createMany("sleep", ms(1500), 3)
			for _, id := range ids {
				t.started(id)
			}
			t.server.kill()
			time.Sleep(500 * time.Millisecond)
			t.noError(t.server.start())
			t.succeeded(ids...)
			for _, id := range ids {
				t.onlyAttempt(id)
			}
			t.succeeded(t.create("noop", nil))
		},
	},
	{
		name:     "server-away-beyond-lease",
		sentence: "what ended while no server was running counts when it is back, although the leases have run out",
		worker:   workerOptions{lease: 3 * time.Second},
		run: func(t *test) {
			t.ownServer()
			t.startWorker()
			ids := t.createMany("sleep", ms(700), 3)
			for _, id := range ids {
				t.started(id)
			}
			t.server.kill()
			for _, id := range ids {
				t.ended(id)
			}
			time.Sleep(5 * time.Second)
			t.noError(t.server.start())
			t.succeeded(ids...)
			for _, id := range ids {
				t.onlyAttempt(id)
				t.check(t.worker.count("start", id) == 1, "the handler started twice")
			}
		},
	},
	{
		name:     "server-away",
		sentence: "a server that is away for a while (--long: a minute) causes no hot loop, and no result is lost",
		worker:   workerOptions{lease: 2 * time.Minute},
		run: func(t *test) {
			away, requestsMax := 5*time.Second, 40
			if t.run.long {
				away, requestsMax = time.Minute, 120
			}
			t.startWorker()
			ids := t.createMany("sleep", ms(700), 3)
			for _, id := range ids {
				t.started(id)
			}
			start := time.Now()
			t.proxy.setAway(true)
			for _, id := range ids {
				t.ended(id)
			}
			time.Sleep(away)
			requests := len(t.proxy.matching(`.`, start))
			t.proxy.setAway(false)
			t.figure("%d requests in %v", requests, away)
			t.check(requests >= 2, "the worker did not try again")
			t.check(requests <= requestsMax, "%d requests while the server was away: at most %d expected", requests, requestsMax)
			t.succeeded(ids...)
			for _, id := range ids {
				t.onlyAttempt(id)
				t.check(t.worker.count("start", id) == 1, "the handler started twice")
			}
			t.succeeded(t.create("noop", nil))
		},
	},
}
