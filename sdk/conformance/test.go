package main

import (
	"fmt"
	"time"
)

// testCase is one promise of the libraries, and how to see whether it is kept.
type testCase struct {
	name     string
	sentence string
	worker   workerOptions
	run      func(*test)
}

func allCases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{stopCases, faultCases, claimCases, oddCases, leaseCases, handlerCases, logCases, loadCases} {
		all = append(all, group...)
	}
	return all
}

// test is what a case works with.
type test struct {
	run     *run
	server  *server
	proxy   *proxy
	worker  *worker
	queue   string
	options workerOptions
	figures []string
}

// failure ends a case; attempt turns it into an error.
type failure struct{ message string }

func (t *test) attempt(c testCase) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			failed, ok := cause.(failure)
			if !ok {
				panic(cause)
			}
			err = fmt.Errorf("%s", failed.message)
		}
	}()
	c.run(t)
	return nil
}

func (t *test) close() {
	if t.worker != nil {
		t.worker.kill()
	}
	if t.proxy != nil {
		t.proxy.close()
	}
	if t.server != t.run.shared {
		t.server.close()
	}
}

func (t *test) fail(format string, values ...any) {
	panic(failure{fmt.Sprintf(format, values...)})
}

func (t *test) check(ok bool, format string, values ...any) {
	if !ok {
		t.fail(format, values...)
	}
}

func (t *test) noError(err error) {
	if err != nil {
		t.fail("%v", err)
	}
}

// figure adds a line to the report of a case, whether it passes or not.
func (t *test) figure(format string, values ...any) {
	t.figures = append(t.figures, fmt.Sprintf(format, values...))
}

// patience is how long a case waits for what should happen soon: far longer than it takes, so that
// a busy machine fails no case.
const patience = 20 * time.Second

// until waits for a condition that becomes true by itself.
func (t *test) until(what string, condition func() bool) {
	t.untilWithin(patience, what, condition)
}

func (t *test) untilWithin(limit time.Duration, what string, condition func() bool) {
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(20 * time.Millisecond) {
		if t.worker != nil && t.worker.ended() && !condition() {
			t.fail("%s: the worker ended: %v", what, t.worker.exit)
		}
		if time.Now().After(deadline) {
			t.fail("%s: not within %v\nevents: %s\nrequests: %s", what, limit, t.recentEvents(), t.recentRequests())
		}
	}
}

// ownServer gives the case a server that it may kill.
func (t *test) ownServer() {
	server, err := startServer(t.run.bin, "")
	t.noError(err)
	t.server = server
}

// startWorker starts the proxy and the adapter, and waits until the worker runs.
func (t *test) startWorker() {
	if t.proxy == nil {
		t.startProxy()
	}
	worker, err := startWorker(t.run.adapter, t.proxy.url(), t.queue, t.options)
	t.noError(err)
	t.worker = worker
	t.until("the event ready", func() bool { return worker.count("ready", "") > 0 || worker.ended() })
	t.check(!worker.ended(), "the adapter ended before it was ready: %v", worker.exit)
}

func (t *test) startProxy() {
	proxy, err := startProxy(t.server.address)
	t.noError(err)
	t.proxy = proxy
}

func (t *test) started(job string) { t.startedTimes(job, 1) }

func (t *test) startedTimes(job string, times int) {
	t.until(fmt.Sprintf("start number %d of the handler", times), func() bool {
		return t.worker.count("start", job) >= times
	})
}

func (t *test) ended(job string) {
	t.until("the end of the handler", func() bool { return t.worker.count("end", job) > 0 })
}

// exits waits for the end of the worker's process and checks that it was an orderly one.
func (t *test) exits(limit time.Duration) {
	t.untilWithin(limit, "the end of the worker", t.worker.ended)
	t.check(t.worker.exit == nil, "the worker did not exit with 0: %v", t.worker.exit)
	events := t.worker.all()
	last := events[len(events)-1]
	t.check(last.Event == "stopped", "the last event was %q instead of \"stopped\"", last.Event)
}

func (t *test) recentEvents() string {
	if t.worker == nil {
		return "no worker"
	}
	events := t.worker.all()
	text := ""
	for _, e := range events[max(0, len(events)-8):] {
		text += "\n  " + e.line
	}
	return text
}

func (t *test) recentRequests() string {
	if t.proxy == nil {
		return "no proxy"
	}
	log := t.proxy.log()
	text := ""
	for _, e := range log[max(0, len(log)-8):] {
		text += fmt.Sprintf("\n  %s %s %s %.120s -> %d %s %.160s", e.at.Format("15:04:05.000"), e.method, e.path, e.body, e.status, e.fault, e.answer)
	}
	return text
}
