// Command conformance proves that a worker library keeps its promises when things go wrong.
//
// It starts the real server, puts a proxy in front of it that can lose answers, and drives a
// worker of any language through its adapter (see ../README.md).
//
// # Layout
//
//   - server.go: the real server, which can be killed and started again
//   - proxy.go: the faults, and the record of what was said
//   - worker.go: the adapter's process and its events
//   - process.go: no process outlives this program
//   - api.go: the few API calls that the cases need, past the proxy
//   - bench.go: figures of a library
//   - cases_*.go: the cases, each with the sentence that it proves
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	adapter := flag.String("adapter", "", "the adapter of the library, an executable")
	bin := flag.String("bin", os.Getenv("STEADFAST_BIN"), "the server's binary")
	name := flag.String("case", "", "run only the cases whose name contains this")
	long := flag.Bool("long", false, "run the long forms: 10,000 jobs, a minute without the server")
	parallel := flag.Int("parallel", 4, "how many cases run at once")
	list := flag.Bool("list", false, "list the cases and exit")
	bench := flag.Int("bench", 0, "measure this many jobs instead, and print the figures as JSON")
	store := flag.String("store", "", "the store of the server, with --bench; an SQLite file by default")
	verbose := flag.Bool("v", false, "print what the worker wrote to stderr")
	flag.Parse()

	if *list {
		for _, c := range allCases() {
			fmt.Printf("%-28s %s\n", c.name, c.sentence)
		}
		return
	}
	if *adapter == "" || *bin == "" {
		fmt.Fprintln(os.Stderr, "conformance: --adapter and --bin (or STEADFAST_BIN) are needed")
		os.Exit(2)
	}
	killProcessesWhenInterrupted()
	run := &run{long: *long, verbose: *verbose}
	var err error
	if run.adapter, err = filepath.Abs(*adapter); err == nil {
		run.bin, err = filepath.Abs(*bin)
	}
	if err == nil {
		run.shared, err = startServer(run.bin, *store)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if *bench > 0 {
		err := run.printBench(*bench)
		run.shared.close()
		if err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
			os.Exit(1)
		}
		return
	}
	failed := run.all(selectCases(*name), *parallel)
	run.shared.close()
	if failed > 0 {
		os.Exit(1)
	}
}

// run is one run of the program: a server that most cases share, and what to test.
type run struct {
	adapter, bin  string
	shared        *server
	long, verbose bool
}

func selectCases(name string) []testCase {
	var selected []testCase
	for _, c := range allCases() {
		if strings.Contains(c.name, name) {
			selected = append(selected, c)
		}
	}
	return selected
}

// all runs the cases, some at once, and returns how many failed.
func (r *run) all(cases []testCase, parallel int) int {
	var (
		wait   sync.WaitGroup
		mutex  sync.Mutex
		failed int
		slots  = make(chan struct{}, max(parallel, 1))
		start  = time.Now()
	)
	for _, c := range cases {
		slots <- struct{}{}
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() { <-slots }()
			report, ok := r.one(c)
			mutex.Lock()
			defer mutex.Unlock()
			if !ok {
				failed++
			}
			fmt.Print(report)
		}()
	}
	wait.Wait()
	fmt.Printf("%d of %d cases passed in %.1f s\n", len(cases)-failed, len(cases), time.Since(start).Seconds())
	if len(cases) == 0 {
		fmt.Println("there is no such case; --list shows them")
		return 1
	}
	return failed
}

// one runs a case and returns its report.
func (r *run) one(c testCase) (report string, ok bool) {
	t := &test{run: r, server: r.shared, queue: "conformance-" + c.name, options: c.worker}
	start := time.Now()
	err := t.attempt(c)
	t.close()
	var out strings.Builder
	word := "ok"
	if err != nil {
		word = "FAIL"
	}
	fmt.Fprintf(&out, "%-4s %-28s %5.1f s  %s\n", word, c.name, time.Since(start).Seconds(), c.sentence)
	for _, line := range t.figures {
		fmt.Fprintf(&out, "       %s\n", line)
	}
	if err != nil {
		fmt.Fprintf(&out, "       %s\n", strings.ReplaceAll(err.Error(), "\n", "\n       "))
	}
	if (err != nil || r.verbose) && t.worker != nil {
		for _, line := range t.worker.lastErrors() {
			fmt.Fprintf(&out, "       stderr: %s\n", line)
		}
	}
	return out.String(), err == nil
}
