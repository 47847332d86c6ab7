package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// oddReplies are answers of a server that is unwell, or of a proxy in front of it. They pass.
var oddReplies = map[string]reply{
	"500":             {500, `{"code":"internal","detail":"a bug","status":500,"title":"a fault","type":"about:blank"}`},
	"502 of a proxy":  {502, "<html>Bad Gateway</html>"},
	"503":             {503, ""},
	"429":             {429, `{"code":"busy","detail":"too many","status":429,"title":"a fault","type":"about:blank"}`},
	"403":             {403, `{"code":"forbidden","detail":"no","status":403,"title":"a fault","type":"about:blank"}`},
	"rubbish":         {200, "<html>hello</html>"},
	"half an answer":  {200, `{"claims":[{"id":`},
	"an empty object": {200, "{}"},
	"an empty list":   {200, "[]"},
	"nothing":         {200, ""},
}

func sortedReplies() []string {
	var names []string
	for name := range oddReplies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var oddCases = []testCase{
	{
		name:     "once-while-server-unwell",
		sentence: "a step that was done is not done again, whatever the server answers to the write of its result for a while",
		worker:   workerOptions{lease: 15 * time.Second},
		run: func(t *test) {
			t.startWorker()
			ids := map[string]string{}
			for _, name := range sortedReplies() {
				// The fault is there before the job starts.
				id := t.createWith("once", fields{"fail_first": true}, fields{"delay": "2s"})
				path := regexp.MustCompile("/claims/" + id + "/steps/")
				t.proxy.addFault(&fault{path: path, method: http.MethodPut, action: oddAnswer, reply: oddReplies[name], left: 5})
				ids[name] = id
			}
			for name, id := range ids {
				t.succeeded(id)
				t.check(t.worker.count("step", id) == 1, "%s: the step ran %d times", name, t.worker.count("step", id))
				t.check(len(t.history(id)) == 2, "%s: %d attempts instead of 2", name, len(t.history(id)))
			}
		},
	},
	{
		name:     "step-of-unwell-server",
		sentence: "a step that was not done is done, whatever the server first answers to the question for its result",
		worker:   workerOptions{lease: 15 * time.Second},
		run: func(t *test) {
			t.startWorker()
			ids := map[string]string{}
			for _, name := range sortedReplies() {
				id := t.createWith("once", fields{"fail_first": false}, fields{"delay": "2s"})
				path := regexp.MustCompile("/claims/" + id + "/steps/")
				t.proxy.addFault(&fault{path: path, method: http.MethodGet, action: oddAnswer, reply: oddReplies[name], left: 5})
				ids[name] = id
			}
			for name, id := range ids {
				t.succeeded(id)
				t.check(t.worker.count("step", id) == 1, "%s: the step ran %d times", name, t.worker.count("step", id))
				t.sameJSON(t.onlyAttempt(id).Result, 42)
			}
		},
	},
	{
		name:     "odd-claims",
		sentence: "a claim that is answered in an odd way is repeated, and the worker goes on",
		run: func(t *test) {
			t.startWorker()
			t.succeeded(t.create("noop", nil))
			replies := oddReplies
			for _, text := range []string{`{"claims":null}`, `{"claims":{}}`, `{"claims":[1]}`, `{"claims":[{}]}`} {
				t.oddAnswers(claimPath, reply{200, text})
			}
			for _, name := range sortedReplies() {
				t.oddAnswers(claimPath, replies[name])
			}
		},
	},
	{
		name:     "odd-settles",
		sentence: "a report that is answered in an odd way is repeated, and takes effect once",
		run: func(t *test) {
			t.startWorker()
			for _, text := range []string{`{"settled":[]}`, `{"settled":[{}]}`, `{"settled":null}`} {
				t.oddAnswers(settlePath, reply{200, text})
			}
			for _, name := range sortedReplies() {
				t.oddAnswers(settlePath, oddReplies[name])
			}
		},
	},
	{
		name:     "odd-heartbeats",
		sentence: "a heartbeat that is answered in an odd way is repeated, and ends nothing",
		worker:   workerOptions{lease: 3 * time.Second},
		run: func(t *test) {
			t.startWorker()
			for _, odd := range []reply{{200, "{}"}, {200, `{"claims":[{}]}`}, {200, "<html>"}, {502, "<html>"}} {
				f := t.proxy.addFault(&fault{path: pattern(heartbeatPath), action: oddAnswer, reply: odd, left: 2})
				id := t.create("sleep", ms(3500))
				t.succeeded(id)
				t.onlyAttempt(id)
				t.check(t.proxy.hits(f) == 2, "%s: only %d heartbeats came", odd.text, t.proxy.hits(f))
			}
		},
	},
	{
		name:     "options",
		sentence: "every option that the API has for a job can be given when a handler enqueues one",
		run: func(t *test) {
			t.startWorker()
			samples := t.optionSamples()
			for _, name := range t.optionsOfAPI() {
				options, ok := samples[name]
				t.check(ok, "the API has the option %s: add an example of it to this case", name)
				id := t.create("enqueue", fields{"options": options})
				t.succeeded(id)
				var made struct{ ID string }
				t.noError(json.Unmarshal(t.onlyAttempt(id).Result, &made))
				var stored map[string]any
				t.call("GET", "/jobs/"+made.ID, nil, &stored)
				for option, value := range options {
					if text, ok := value.(string); ok && readable[option] {
						t.check(stored[option] == text, "%s: %v instead of %v", option, stored[option], text)
					}
				}
			}
		},
	},
}

// oddAnswers checks that a job ends as it should although requests are answered oddly before.
func (t *test) oddAnswers(path string, odd reply) {
	f := t.proxy.addFault(&fault{path: pattern(path), action: oddAnswer, reply: odd, left: 1})
	id := t.create("noop", nil)
	t.succeeded(id)
	t.until(fmt.Sprintf("the answer %q", odd.text), func() bool {
		if t.proxy.hits(f) == 0 && path == claimPath {
			// The worker still waits with a claim from before.
			t.succeeded(t.create("noop", nil))
		}
		return t.proxy.hits(f) > 0
	})
	t.onlyAttempt(id)
	t.check(t.worker.count("start", id) == 1, "the handler started %d times", t.worker.count("start", id))
}

// notOptions say what a job does, when a schedule creates it, or name it within a list.
var notOptions = []string{"kind", "payload", "api", "http", "like", "schedule", "isRecurring", "timezone", "ref"}

// optionsOfAPI are the fields of a job in the server's description, but for what the job does.
func (t *test) optionsOfAPI() []string {
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	t.call("GET", "/openapi.json", nil, &document)
	var names []string
	for name := range document.Components.Schemas["CreateJobRequest"].Properties {
		if !slices.Contains(notOptions, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	t.check(len(names) > 25, "the API has only %d options", len(names))
	return names
}

// readable are options that a job shows as they were given.
var readable = map[string]bool{
	"concurrencyKey": true, "destination": true, "idempotencyKey": true, "queue": true, "tenant": true, "traceparent": true, "type": true,
}

// optionSamples has an example for each option, with the others that it needs.
func (t *test) optionSamples() map[string]fields {
	before := t.createWith("noop", nil, fields{"delay": "1h"})
	var batch struct{ ID string }
	t.call("POST", "/batches", fields{"open": true}, &batch)
	unique := fields{"key": strings.ToLower(t.queue), "while": "waiting", "onConflict": "keep"}
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	later := func(more fields) fields {
		more["delay"] = "1h"
		return more
	}
	return map[string]fields{
		"after":                 {"after": []string{before}},
		"batch":                 later(fields{"batch": batch.ID}),
		"confirm":               later(fields{"confirm": fields{}}),
		"concurrencyKey":        later(fields{"concurrencyKey": "customer 7"}),
		"debounce":              {"unique": unique, "debounce": "10m"},
		"debounceMax":           {"unique": unique, "debounce": "10m", "debounceMax": "1h"},
		"delay":                 later(fields{}),
		"destination":           later(fields{"destination": "https://api.example.com"}),
		"idempotencyKey":        later(fields{"idempotencyKey": "key of " + t.queue}),
		"jobName":               later(fields{"jobName": "a-name"}),
		"lease":                 later(fields{"lease": "20s"}),
		"maxAttempts":           later(fields{"maxAttempts": 3}),
		"maxRetries":            later(fields{"maxRetries": 3}),
		"maxRetryCount":         later(fields{"maxRetryCount": 3}),
		"onExpiry":              later(fields{"startBefore": "2h", "onExpiry": "cancel"}),
		"onFailure":             {"after": []string{before}, "onFailure": "run"},
		"priority":              later(fields{"priority": 9}),
		"queue":                 later(fields{"queue": t.queue + "-other"}),
		"retry":                 later(fields{"retry": fields{"preset": "patient", "maxRetries": 7}}),
		"retryDelay":            later(fields{"retryDelay": "5s"}),
		"runAt":                 {"runAt": at},
		"startBefore":           later(fields{"startBefore": "2h"}),
		"tags":                  later(fields{"tags": fields{"order": "7"}}),
		"tenant":                later(fields{"tenant": "default"}),
		"timeout":               later(fields{"timeout": "20s"}),
		"traceparent":           later(fields{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}),
		"type":                  later(fields{"type": "AT_MOST_ONCE"}),
		"unique":                later(fields{"unique": unique}),
		"useExponentialBackoff": later(fields{"useExponentialBackoff": true}),
		"webhook":               later(fields{"webhook": fields{"url": "http://127.0.0.1:9/"}}),
	}
}
