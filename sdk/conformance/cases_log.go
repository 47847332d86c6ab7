package main

import (
	"fmt"
	"time"
)

var logCases = []testCase{
	{
		name:     "lost-log-answers",
		sentence: "each line of a log is stored once and in order, although a heartbeat and a settle lost their answers",
		// short enough for further heartbeats after the lost one
		worker: workerOptions{lease: 3 * time.Second},
		run: func(t *test) {
			const count = 15
			t.startWorker()
			beat := t.proxy.add(heartbeatPath, cutAfter, 1)
			settle := t.proxy.add(settlePath, cutAfter, 1)
			id := t.create("log", fields{"lines": count, "ms": 150})
			t.succeeded(id)
			t.onlyAttempt(id)
			t.until("the lost answer to a settle", func() bool { return t.proxy.hits(settle) == 1 })
			t.check(t.proxy.hits(beat) == 1, "no line was sent before the end of the attempt")
			t.until("the last line", func() bool { return len(t.logOf(id, 1)) > count })
			for number, line := range t.logOf(id, 1) {
				want := logLine{number, "info", fmt.Sprintf("line %d", number)}
				if number == count {
					want = logLine{number, "warn", "the last line"}
				}
				t.check(line == want, "line %d is %+v instead of %+v", number, line, want)
			}
			t.check(len(t.logOf(id, 1)) == count+1, "the log has %d lines instead of %d", len(t.logOf(id, 1)), count+1)
		},
	},
}
