package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

var handlerCases = []testCase{
	{
		name:     "unicode",
		sentence: "payloads and results keep every character, and numbers their digits",
		run: func(t *test) {
			t.startWorker()
			text := "ä 漢字 🦀 \u2028 \u0000 \" \\ </script> " + strings.Repeat("e\u0301", 20)
			payload := fields{"text": text, "ключ": []any{nil, true, -1.5, 9007199254740991, fields{}}, "": ""}
			id := t.create("echo", payload)
			t.succeeded(id)
			t.sameJSON(t.onlyAttempt(id).Result, payload)
		},
	},
	{
		name:     "large-payload",
		sentence: "a payload of 256 KiB and a result of 64 KiB arrive",
		run: func(t *test) {
			t.startWorker()
			noop := t.create("noop", strings.Repeat("x", 256<<10-2))
			text := strings.Repeat("é", (64<<10-2)/2)
			echo := t.create("echo", text)
			t.succeeded(noop, echo)
			t.sameJSON(t.onlyAttempt(echo).Result, text)
		},
	},
	{
		name:     "refused-result",
		sentence: "a result that the server refuses fails its own job with a reason, and no other",
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(settlePath, cutBefore, 1)
			tooLarge := t.create("echo", strings.Repeat("x", 100<<10))
			ids := t.createMany("echo", fields{"n": 1}, 5)
			t.succeeded(ids...)
			failed := t.labelled(tooLarge, "failed")
			t.check(failed.Reason == "non_retryable", "the reason is %q: the handler would run again for the same result", failed.Reason)
			t.check(failed.Failure != nil && failed.Failure.Class == "result" && strings.Contains(failed.Failure.Message, "65536"),
				"the failure does not say why: %+v", failed.Failure)
		},
	},
	{
		name:     "failure",
		sentence: "a failure keeps its class, message and trace, and the policy decides",
		run: func(t *test) {
			t.startWorker()
			id := t.createWith("fail", fields{"class": "SmtpError", "message": "450 später"},
				fields{"retry": map[string]any{"maxRetries": 1, "backoff": "fixed", "baseDelay": "0s", "jitter": "none"}})
			failed := t.labelled(id, "failed")
			t.check(failed.Reason == "exhausted", "the reason is %q", failed.Reason)
			attempts := t.history(id)
			t.check(len(attempts) == 2, "%d attempts instead of 2", len(attempts))
			for _, a := range attempts {
				t.check(a.Failure.Class == "SmtpError", "the class is %q", a.Failure.Class)
				t.check(a.Failure.Message == "450 später", "the message is %q", a.Failure.Message)
				t.check(a.Failure.Trace != "", "there is no trace")
			}
		},
	},
	{
		name:     "permanent",
		sentence: "a permanent failure is not retried",
		run: func(t *test) {
			t.startWorker()
			id := t.create("fail", fields{"class": "validation", "message": "no", "permanent": true})
			failed := t.labelled(id, "failed")
			t.check(failed.Reason == "non_retryable", "the reason is %q", failed.Reason)
			t.onlyAttempt(id)
		},
	},
	{
		name:     "permanent-class",
		sentence: "a permanent failure keeps its class, whatever it is called, and a rule for that class may still retry it",
		run: func(t *test) {
			t.startWorker()
			for _, class := range []string{"CardExpired", `App\Errors::Störung 漢字🦀`} {
				payload := fields{"class": class, "message": "no", "permanent": true}
				failed := t.labelled(t.create("fail", payload), "failed")
				t.check(failed.Reason == "non_retryable", "the reason is %q", failed.Reason)
				t.check(failed.Failure.Class == class, "the class is %q instead of %q", failed.Failure.Class, class)
				rules := fields{"rules": []any{fields{"match": fields{"class": class}, "then": fields{"retry": "1h"}}}}
				t.labelled(t.createWith("fail", payload, fields{"retry": rules}), "retrying")
			}
		},
	},
	{
		name:     "retry-after",
		sentence: "a failure with a retry-after is retried no sooner",
		run: func(t *test) {
			t.startWorker()
			id := t.create("fail", fields{"class": "Busy", "message": "later", "retryAfterMs": 90_000})
			t.labelled(id, "retrying")
			var answer struct {
				Attempts []struct{ Decision struct{ RetryAfterMs int } }
			}
			t.call("GET", "/jobs/"+id+"/history", nil, &answer)
			t.check(answer.Attempts[0].Decision.RetryAfterMs == 90_000, "retryAfter is %d ms", answer.Attempts[0].Decision.RetryAfterMs)
		},
	},
	{
		name:     "snooze",
		sentence: "a snoozed job runs again later, and the attempt is not counted",
		run: func(t *test) {
			t.startWorker()
			id := t.create("snooze", ms(200))
			t.startedTimes(id, 3)
			t.check(t.job(id).RetryCount == 0, "the retry count is %d", t.job(id).RetryCount)
			for _, e := range t.worker.find("start", id) {
				t.check(e.Attempt == 1, "a snoozed attempt was counted: attempt %d", e.Attempt)
			}
			t.check(t.history(id)[0].Status == "SNOOZED", "the attempt is %s", t.history(id)[0].Status)
			t.call("POST", "/jobs/"+id+"/cancel", nil, nil)
		},
	},
	{
		name:     "payload-misfit",
		sentence: "a payload that does not fit the type fails with class payload, and is not retried",
		run: func(t *test) {
			t.startWorker()
			for _, payload := range []any{fields{"name": "a", "count": "many"}, fields{"name": 3, "count": 1}, "text", nil} {
				id := t.create("typed", payload)
				failed := t.labelled(id, "failed")
				t.check(failed.Failure.Class == "payload", "%v: the class is %q", payload, failed.Failure.Class)
				t.check(failed.Reason == "non_retryable", "%v: the reason is %q", payload, failed.Reason)
			}
			payload := fields{"name": "a", "count": 1}
			id := t.create("typed", payload)
			t.succeeded(id)
			t.sameJSON(t.onlyAttempt(id).Result, payload)
		},
	},
	{
		name:     "once",
		sentence: "a step that has been done is not done again by the next attempt",
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(`/claims/.+/steps/charge$`, cutAfter, 1)
			id := t.create("once", fields{"fail_first": true})
			t.succeeded(id)
			attempts := t.history(id)
			t.check(len(attempts) == 2, "%d attempts instead of 2", len(attempts))
			t.check(t.worker.count("step", id) == 1, "the step ran %d times", t.worker.count("step", id))
			t.sameJSON(attempts[1].Result, 42)
		},
	},
	{
		name:     "confirm",
		sentence: "a question goes to the confirm function, and the handler runs only after not_done",
		run: func(t *test) {
			t.startWorker()
			options := fields{"type": "AT_MOST_ONCE", "confirm": fields{}, "retry": atOnce}
			id := t.createWith("charge", fields{"answer": "done"}, options)
			t.succeeded(id)
			attempts := t.history(id)
			t.check(len(attempts) == 2, "%d records instead of 2", len(attempts))
			t.check(attempts[1].Status == "ASKED" && attempts[1].Answer == "done", "the last record is %+v", attempts[1])
			t.sameJSON(attempts[1].Result, fields{"found": true})
			t.check(t.worker.count("step", id) == 1, "the handler ran %d times", t.worker.count("step", id))

			id = t.createWith("charge", fields{"answer": "not_done"}, fields{"confirm": fields{}, "retry": atOnce})
			t.succeeded(id)
			t.check(t.worker.count("step", id) == 2, "the handler ran %d times", t.worker.count("step", id))

			for _, answer := range []string{"unknown", "no answer at all"} {
				id = t.createWith("charge", fields{"answer": answer}, options)
				failed := t.labelled(id, "failed")
				t.check(failed.Reason == "outcome_unknown", "%s: the reason is %q", answer, failed.Reason)
				t.check(len(t.history(id)) == 5, "%s: %d records instead of 5", answer, len(t.history(id)))
				t.check(t.worker.count("step", id) == 1, "%s: the handler ran %d times", answer, t.worker.count("step", id))
			}
		},
	},
	{
		name:     "progress",
		sentence: "progress and note of a handler are kept, also if it ends right after",
		run: func(t *test) {
			t.startWorker()
			id := t.create("progress", nil)
			t.succeeded(id)
			note := t.onlyAttempt(id).Note
			t.check(note == "half", "the note is %q", note)
			sent := false
			for _, e := range t.proxy.matching(heartbeatPath, time.Time{}) {
				sent = sent || bytes.Contains(bytes.ReplaceAll(e.body, []byte(" "), nil), []byte(`"progress":50`))
			}
			t.check(sent, "no heartbeat had the progress")
		},
	},
	{
		name:     "spawn",
		sentence: "a job on success is made once, although the answer to the settle was lost, and belongs to the same trace",
		run: func(t *test) {
			t.startWorker()
			t.proxy.add(settlePath, cutAfter, 2)
			trace := "4bf92f3577b34da6a3ce929d0e0e4736"
			id := t.createWith("spawn", nil, fields{"traceparent": "00-" + trace + "-00f067aa0ba902b7-01"})
			t.succeeded(id)
			made := func() []job { return t.jobs("succeeded", "noop") }
			t.until("the job on success", func() bool { return len(made()) > 0 })
			t.onlyAttempt(id)
			t.check(len(made()) == 1, "%d jobs were made", len(made()))
			t.check(strings.Contains(t.job(made()[0].ID).Traceparent, trace), "traceparent is %q", t.job(made()[0].ID).Traceparent)
		},
	},
	{
		name:     "references",
		sentence: "jobs that wait for each other are created in one call, and a handler reads the results of those it waited for",
		run: func(t *test) {
			t.startWorker()
			id := t.create("flow", nil)
			t.succeeded(id)
			var made struct{ ID string }
			t.noError(json.Unmarshal(t.onlyAttempt(id).Result, &made))
			t.succeeded(made.ID)
			t.sameJSON(t.onlyAttempt(made.ID).Result, []any{fields{"n": 1}})
			before := t.createMany("echo", fields{"n": 2}, 120)
			last := t.createWith("gather", nil, fields{"after": before})
			t.succeeded(last)
			var results []any
			t.noError(json.Unmarshal(t.onlyAttempt(last).Result, &results))
			t.check(len(results) == 120, "%d results of 120", len(results))
		},
	},
	{
		name:     "flow-control",
		sentence: "gates and destinations are set and read with typed calls, whatever their keys contain",
		run: func(t *test) {
			t.startWorker()
			key := "customer 7/8 %2F ä?#" + t.queue
			origin := "https://" + t.queue + ".example.com"
			id := t.create("limit", fields{"key": key, "origin": origin})
			t.succeeded(id)
			t.sameJSON(t.onlyAttempt(id).Result, fields{"maxRunning": 3, "reason": "conformance"})
			held := t.createWith("noop", nil, fields{"destination": origin})
			t.succeeded(t.create("noop", nil))
			t.check(t.job(held).Label == "ready", "a job of a held destination is %s", t.job(held).Label)
			t.call("POST", "/destinations/"+url.PathEscape(origin)+"/release", nil, nil)
			t.succeeded(held)
		},
	},
	{
		name:     "other-kinds",
		sentence: "jobs of kinds that have no handler are left to other workers",
		run: func(t *test) {
			t.startWorker()
			other := t.create("another-kind", nil)
			t.succeeded(t.create("noop", nil))
			t.check(t.job(other).Label == "ready", "the job is %s", t.job(other).Label)
		},
	},
	{
		name:     "presence",
		sentence: "the server knows the worker: library, host, queue, kinds and concurrency",
		worker:   workerOptions{concurrency: 7},
		run: func(t *test) {
			t.startWorker()
			var seen struct {
				Workers []struct {
					Name, Library, Host string
					Queues, Kinds       []string
					Concurrency         int
					Alive               bool
				}
			}
			t.until("the worker being listed", func() bool {
				t.call("GET", "/workers?limit=500", nil, &seen)
				for _, w := range seen.Workers {
					if len(w.Queues) == 1 && w.Queues[0] == t.queue {
						t.check(strings.HasPrefix(w.Library, "steadfast-"), "the library is %q", w.Library)
						t.check(w.Host != "", "there is no host")
						t.check(w.Concurrency == 7, "the concurrency is %d", w.Concurrency)
						t.check(len(w.Kinds) == 16, "the kinds are %v", w.Kinds)
						t.check(w.Alive, "the worker is not alive")
						return true
					}
				}
				return false
			})
		},
	},
}

// sameJSON checks that a result is what was sent, as JSON values.
func (t *test) sameJSON(got json.RawMessage, want any) {
	var decoded any
	t.noError(json.Unmarshal(got, &decoded))
	gotText, err := json.Marshal(decoded)
	t.noError(err)
	wantText, err := json.Marshal(want)
	t.noError(err)
	var again any
	t.noError(json.Unmarshal(wantText, &again))
	wantText, err = json.Marshal(again)
	t.noError(err)
	t.check(bytes.Equal(gotText, wantText), "the result is %.200s instead of %.200s", gotText, wantText)
}
