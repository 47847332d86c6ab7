package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// workerOptions is what an adapter is told about the worker it should run.
type workerOptions struct {
	concurrency int
	grace       time.Duration
	lease       time.Duration
	// if set, the adapter runs no worker: it enqueues as many jobs, as many at a time as its concurrency
	enqueue int
}

// worker is the process of an adapter.
type worker struct {
	process *exec.Cmd
	done    chan struct{}
	exit    error

	mutex  sync.Mutex
	events []event
	errors []string
}

// event is a line that the adapter wrote to its stdout.
type event struct {
	Event   string `json:"event"`
	Job     string `json:"job"`
	Kind    string `json:"kind"`
	Attempt int    `json:"attempt"`
	Outcome string `json:"outcome"`
	// of the event enqueued
	Seconds float64 `json:"seconds"`

	at   time.Time
	line string
}

// apiKey is sent by the worker; a server without keys accepts any.
const apiKey = "sf_conformance"

func startWorker(adapter, url, queue string, options workerOptions) (*worker, error) {
	w := &worker{process: exec.Command(adapter), done: make(chan struct{})}
	w.process.Dir = filepath.Dir(adapter)
	w.process.Env = append(environmentWithout("STEADFAST_"),
		"STEADFAST_URL="+url,
		"STEADFAST_API_KEY="+apiKey,
		"CONCURRENCY="+strconv.Itoa(orDefault(options.concurrency, 10)),
		"GRACE="+milliseconds(orDefault(options.grace, 5*time.Second)),
		"LEASE="+milliseconds(orDefault(options.lease, 30*time.Second)),
		"QUEUE="+queue)
	if options.enqueue > 0 {
		w.process.Env = append(w.process.Env, "ENQUEUE="+strconv.Itoa(options.enqueue))
	}
	output, err := w.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errors, err := w.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := startProcess(w.process); err != nil {
		return nil, fmt.Errorf("failed to start the adapter: %w", err)
	}
	var readers sync.WaitGroup
	readers.Add(2)
	go w.read(&readers, output, w.addEvent)
	go w.read(&readers, errors, w.addError)
	go func() {
		readers.Wait()
		w.exit = w.process.Wait()
		close(w.done)
	}()
	return w, nil
}

func orDefault[V comparable](value, otherwise V) V {
	var zero V
	if value == zero {
		return otherwise
	}
	return value
}

// milliseconds writes a duration as the API reads it: seconds where they are whole.
func milliseconds(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

func (w *worker) read(readers *sync.WaitGroup, from io.Reader, add func(string)) {
	defer readers.Done()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		add(lines.Text())
	}
	io.Copy(io.Discard, from)
}

func (w *worker) addEvent(line string) {
	e := event{at: time.Now(), line: line}
	if json.Unmarshal([]byte(line), &e) != nil {
		w.addError("not an event: " + line)
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.events = append(w.events, e)
}

func (w *worker) addError(line string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.errors = append(w.errors, line)
}

func (w *worker) lastErrors() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]string(nil), w.errors[max(0, len(w.errors)-30):]...)
}

func (w *worker) all() []event {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]event(nil), w.events...)
}

// find are the events of a name, of one job or of all.
func (w *worker) find(name, job string) []event {
	var found []event
	for _, e := range w.all() {
		if e.Event == name && (job == "" || e.Job == job) {
			found = append(found, e)
		}
	}
	return found
}

func (w *worker) count(name, job string) int { return len(w.find(name, job)) }

func (w *worker) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func (w *worker) terminate() { w.process.Process.Signal(syscall.SIGTERM) }

func (w *worker) kill() {
	killProcess(w.process)
	<-w.done
}

// memory is the resident memory of the process in bytes.
func (w *worker) memory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.process.Process.Pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
