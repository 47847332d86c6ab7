package main

import (
	"sort"
	"time"
)

var loadCases = []testCase{
	{
		name:     "many-jobs",
		sentence: "2,000 jobs (--long: 10,000) in batches, without an idle gap, and nothing is held afterwards",
		worker:   workerOptions{concurrency: 100, grace: time.Second},
		run:      manyJobs,
	},
	{
		name:     "slow-neighbour",
		sentence: "the one slot that is free takes jobs while the others are busy with slow ones",
		worker:   workerOptions{concurrency: 10},
		run: func(t *test) {
			slow := t.createMany("sleep", ms(60_000), 9)
			ids := t.createMany("noop", nil, 30)
			t.startWorker()
			t.succeeded(ids...)
			for _, id := range slow {
				t.check(t.job(id).Label == "running", "a slow job is %s", t.job(id).Label)
			}
		},
	},
	{
		name:     "start-latency",
		sentence: "a job that comes while the worker is idle starts at once",
		run: func(t *test) {
			t.startWorker()
			var latencies []time.Duration
			for range 20 {
				created := time.Now()
				id := t.create("noop", nil)
				t.ended(id)
				latencies = append(latencies, t.worker.find("start", id)[0].at.Sub(created))
			}
			sort.Slice(latencies, func(i, j int) bool { return latencies[i] < latencies[j] })
			t.figure("from the create request to the handler: median %v, longest %v",
				latencies[len(latencies)/2].Round(time.Millisecond), latencies[len(latencies)-1].Round(time.Millisecond))
			t.check(latencies[len(latencies)/2] < time.Second, "the median latency is %v", latencies[len(latencies)/2])
		},
	},
}

// The longest time without an end of a handler while jobs are waiting. Far above what it takes, and
// far below a long poll, which is what a worker with this defect would wait for.
const idleGapMax = 3 * time.Second

// How much memory the second half of the jobs may add. A worker that keeps its claims needs more
// with --long.
const memoryGrowthMax = 48 << 20

func manyJobs(t *test) {
	count := 2000
	if t.run.long {
		count = 10_000
	}
	ids := t.createMany("noop", nil, count)
	t.startWorker()
	ends := func() int { return t.worker.count("end", "") }
	limit := 60 * time.Second
	if t.run.long {
		limit = 5 * time.Minute
	}
	t.untilWithin(limit, "half of the jobs", func() bool { return ends() >= count/2 })
	memoryBefore := t.worker.memory()
	t.untilWithin(limit, "all of the jobs", func() bool { return ends() >= count })
	memoryAfter := t.worker.memory()

	started := map[string]int{}
	for _, e := range t.worker.find("start", "") {
		started[e.Job]++
	}
	for _, id := range ids {
		t.check(started[id] == 1, "job %s started %d times", id, started[id])
	}
	t.untilWithin(limit, "every job being settled", func() bool {
		return len(t.jobs("running", "noop")) == 0 && len(t.jobs("ready", "noop")) == 0
	})

	events := t.worker.find("end", "")
	gap := time.Duration(0)
	for i := 1; i < len(events); i++ {
		gap = max(gap, events[i].at.Sub(events[i-1].at))
	}
	took := events[len(events)-1].at.Sub(events[0].at)
	claims := len(t.proxy.matching(claimPath, time.Time{}))
	settles := len(t.proxy.matching(settlePath, time.Time{}))
	t.figure("%d jobs in %v, %.0f a second; longest gap %v; %d claim and %d settle requests; memory %d MB, then %d MB",
		count, took.Round(time.Millisecond), float64(count)/took.Seconds(), gap.Round(time.Millisecond),
		claims, settles, memoryBefore>>20, memoryAfter>>20)
	t.check(gap < idleGapMax, "for %v no handler ended although jobs were waiting", gap)
	t.check(claims <= count/10, "%d claim requests for %d jobs", claims, count)
	t.check(settles <= count/2, "%d settle requests for %d jobs", settles, count)
	t.check(memoryAfter-memoryBefore < memoryGrowthMax, "memory grew from %d MB to %d MB", memoryBefore>>20, memoryAfter>>20)
	t.nothingHeld()
}

// nothingHeld checks that a worker without work renews nothing: a claim that it still counted as
// held would be seen in a heartbeat.
func (t *test) nothingHeld() {
	held := t.create("sleep", ms(60_000))
	t.started(held)
	t.worker.terminate()
	t.exits(20 * time.Second)
	for _, e := range t.proxy.matching(settlePath, t.worker.find("start", held)[0].at) {
		t.check(len(e.body) < 2000, "the worker still held other claims when it stopped: %.300s", e.body)
	}
}
