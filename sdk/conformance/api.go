package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// fields are the optional fields of a new job.
type fields map[string]any

type job struct {
	ID              string
	Kind            string
	Label           string
	Attempt         int
	RetryCount      int
	CancelRequested bool
	Reason          string
	Traceparent     string
	Note            string
	Failure         *jobFailure
}

type jobFailure struct {
	Class, Message, Trace string
}

type attempt struct {
	Attempt int
	Status  string
	Answer  string
	Failure *jobFailure
	Result  json.RawMessage
	Note    string
}

// atOnce is a retry policy without delays, so that no case waits for a retry.
var atOnce = map[string]any{"maxRetries": 3, "backoff": "fixed", "baseDelay": "0s", "jitter": "none"}

// call talks to the server directly, past the proxy and its faults.
func (t *test) call(method, path string, body, into any) int {
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		t.noError(err)
	}
	request, err := http.NewRequest(method, "http://"+t.server.address+"/api/v1"+path, bytes.NewReader(text))
	t.noError(err)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	t.noError(err)
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	t.noError(err)
	if into != nil {
		t.check(answer.StatusCode < 300, "%s %s answered %d: %s", method, path, answer.StatusCode, text)
		t.noError(json.Unmarshal(text, into))
	}
	return answer.StatusCode
}

func (t *test) create(kind string, payload any) string {
	return t.createWith(kind, payload, nil)
}

func (t *test) createWith(kind string, payload any, more fields) string {
	var created job
	t.call("POST", "/jobs", t.body(kind, payload, more), &created)
	return created.ID
}

func (t *test) createMany(kind string, payload any, count int) []string {
	var ids []string
	for len(ids) < count {
		var bodies []fields
		for range min(count-len(ids), 1000) {
			bodies = append(bodies, t.body(kind, payload, nil))
		}
		var created struct{ Jobs []job }
		t.call("POST", "/jobs", fields{"jobs": bodies}, &created)
		for _, j := range created.Jobs {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

func (t *test) body(kind string, payload any, more fields) fields {
	body := fields{"kind": kind, "payload": payload, "queue": t.queue, "retry": atOnce}
	for name, value := range more {
		body[name] = value
	}
	return body
}

func (t *test) job(id string) job {
	var found job
	t.call("GET", "/jobs/"+id, nil, &found)
	return found
}

type logLine struct {
	Number      int
	Level, Text string
}

// logOf are the lines that an attempt logged.
func (t *test) logOf(id string, attempt int) []logLine {
	var found struct{ Lines []logLine }
	t.call("GET", fmt.Sprintf("/jobs/%s/attempts/%d/logs", id, attempt), nil, &found)
	return found.Lines
}

// history are the attempts of a job, the first one first.
func (t *test) history(id string) []attempt {
	var found struct{ Attempts []attempt }
	t.call("GET", "/jobs/"+id+"/history", nil, &found)
	for i, j := 0, len(found.Attempts)-1; i < j; i, j = i+1, j-1 {
		found.Attempts[i], found.Attempts[j] = found.Attempts[j], found.Attempts[i]
	}
	return found.Attempts
}

// jobs are the jobs of the case's queue with a label and a kind, up to 500.
func (t *test) jobs(label, kind string) []job {
	var found struct{ Jobs []job }
	t.call("GET", fmt.Sprintf("/jobs?queue=%s&label=%s&kind=%s&limit=500", t.queue, label, kind), nil, &found)
	return found.Jobs
}

// tagged are the jobs with a tag.
func (t *test) tagged(tag string) []job {
	var found struct{ Jobs []job }
	t.call("GET", "/jobs?tag="+url.QueryEscape(tag), nil, &found)
	return found.Jobs
}

func (t *test) succeeded(ids ...string) {
	for _, id := range ids {
		t.labelled(id, "succeeded")
	}
}

// labelled waits until a job has a label; another end is an error at once.
func (t *test) labelled(id, label string) job {
	var now job
	t.until(fmt.Sprintf("job %s being %s", id, label), func() bool {
		now = t.job(id)
		ended := now.Label == "succeeded" || now.Label == "failed" || now.Label == "cancelled"
		if ended && now.Label != label {
			t.fail("job %s (%s) is %s instead of %s: %+v", id, now.Kind, now.Label, label, now.Failure)
		}
		return now.Label == label
	})
	return now
}

// onlyAttempt checks that a job had one attempt, and returns it.
func (t *test) onlyAttempt(id string) attempt {
	attempts := t.history(id)
	t.check(len(attempts) == 1, "job %s has %d attempts instead of 1: %+v", id, len(attempts), attempts)
	return attempts[0]
}

// claimOf is the fence of a job that the worker claimed, as the proxy saw it.
func (t *test) fenceOf(id string) int {
	for _, e := range t.proxy.matching(`/claims$`, time.Time{}) {
		var answer struct {
			Claims []struct {
				ID    string
				Fence int
			}
		}
		json.Unmarshal(e.answer, &answer)
		for _, claim := range answer.Claims {
			if claim.ID == id {
				return claim.Fence
			}
		}
	}
	t.fail("no claim of %s was seen", id)
	return 0
}

// hasClaims tells whether the answer to a claim request has jobs.
func hasClaims(e *exchange) bool {
	var answer struct{ Claims []json.RawMessage }
	return json.Unmarshal(e.answer, &answer) == nil && len(answer.Claims) > 0
}
