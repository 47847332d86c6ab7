package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

// figures is what a measurement found, in one line of JSON.
type figures struct {
	Adapter       string  `json:"adapter"`
	Jobs          int     `json:"jobs"`
	Concurrency   int     `json:"concurrency"`
	JobsPerSecond float64 `json:"jobsPerSecond"`
	// jobs enqueued one by one, 50 at a time
	EnqueuesPerSecond float64 `json:"enqueuesPerSecond"`
	// with a worker of one slot
	OneByOnePerSecond float64 `json:"oneByOnePerSecond"`
	// CPU time of the worker, its event lines included
	CPUPerJobMicros float64 `json:"cpuPerJobMicros"`
	// from the create request to the start of the handler, on an idle worker
	StartP50Ms float64 `json:"startP50Ms"`
	StartP99Ms float64 `json:"startP99Ms"`
}

// bench measures a library: jobs that do nothing, as fast as they go, and then one at a time. There
// is no proxy in between.
func (r *run) bench(jobs int) (result figures, err error) {
	const concurrency, singles, enqueues, inParallel, oneByOne = 100, 200, 2000, 50, 500
	t := &test{run: r, server: r.shared, queue: "bench"}
	defer t.close()
	defer func() {
		if cause := recover(); cause != nil {
			failed, ok := cause.(failure)
			if !ok {
				panic(cause)
			}
			err = fmt.Errorf("%s", failed.message)
		}
	}()
	result = figures{Adapter: r.adapter, Jobs: jobs, Concurrency: concurrency}

	enqueuing := workerOptions{concurrency: inParallel, enqueue: enqueues}
	t.worker, err = startWorker(r.adapter, "http://"+r.shared.address, t.queue, enqueuing)
	if err != nil {
		return result, err
	}
	t.untilWithin(time.Minute, "all enqueues", func() bool { return t.worker.count("enqueued", "") > 0 })
	result.EnqueuesPerSecond = enqueues / t.worker.find("enqueued", "")[0].Seconds
	t.worker.kill()

	t.createMany("noop", nil, jobs-enqueues)
	t.worker, err = startWorker(r.adapter, "http://"+r.shared.address, t.queue, workerOptions{concurrency: concurrency, grace: time.Second})
	if err != nil {
		return result, err
	}
	t.untilWithin(patience, "the first job", func() bool { return t.worker.count("start", "") > 0 })
	start, cpu := t.worker.find("start", "")[0].at, t.worker.cpuTime()
	t.untilWithin(5*time.Minute, "all jobs", func() bool { return t.worker.count("end", "") >= jobs })
	t.untilWithin(patience, "every job being settled", func() bool {
		return len(t.jobs("running", "noop")) == 0 && len(t.jobs("ready", "noop")) == 0
	})
	result.JobsPerSecond = float64(jobs) / time.Since(start).Seconds()
	result.CPUPerJobMicros = float64((t.worker.cpuTime() - cpu).Microseconds()) / float64(jobs)

	latencies := make([]float64, 0, singles)
	for range singles {
		seen, created := t.worker.count("start", ""), time.Now()
		t.create("noop", nil)
		t.untilWithin(patience, "a single job", func() bool { return t.worker.count("start", "") > seen })
		starts := t.worker.find("start", "")
		latencies = append(latencies, float64(starts[seen].at.Sub(created).Microseconds())/1000)
	}
	sort.Float64s(latencies)
	result.StartP50Ms, result.StartP99Ms = latencies[singles/2], latencies[singles*99/100]

	t.worker.kill()
	t.createMany("noop", nil, oneByOne)
	t.worker, err = startWorker(r.adapter, "http://"+r.shared.address, t.queue, workerOptions{concurrency: 1, grace: time.Second})
	if err != nil {
		return result, err
	}
	t.untilWithin(time.Minute, "jobs one by one", func() bool { return t.worker.count("end", "") >= oneByOne })
	starts, ends := t.worker.find("start", ""), t.worker.find("end", "")
	result.OneByOnePerSecond = oneByOne / ends[len(ends)-1].at.Sub(starts[0].at).Seconds()
	return result, nil
}

func (r *run) printBench(jobs int) error {
	result, err := r.bench(jobs)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// cpuTime is what the process has used so far, as the kernel counts it: in hundredths of a second.
func (w *worker) cpuTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.process.Process.Pid))
	if err != nil {
		return 0
	}
	// the name of the process, in brackets, may have spaces
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	total := int64(0)
	for _, field := range fields[11:13] {
		ticks, _ := strconv.ParseInt(field, 10, 64)
		total += ticks
	}
	return time.Duration(total) * 10 * time.Millisecond
}
