package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// ruin is what becomes of an answer after the server has done its part.
type ruin struct {
	name   string
	action action
	reply  reply
}

// ruins of answers that were lost on the way, or replaced by a proxy.
func ruins() []ruin {
	all := []ruin{{name: "cut", action: cutAfter}, {name: "half", action: halfAnswer}}
	for _, name := range sortedReplies() {
		all = append(all, ruin{name, oddAnswer, oddReplies[name]})
	}
	return all
}

// ruinAnswer ruins the next answer to this path that a condition accepts.
func (t *test) ruinAnswer(path string, r ruin, accepts func(*exchange) bool) *fault {
	return t.proxy.addFault(&fault{path: pattern(path), action: r.action, reply: r.reply, answer: accepts, left: 1})
}

// settlesJobs tells whether a claim reports outcomes as well.
func settlesJobs(e *exchange) bool {
	var request struct{ Settlements []json.RawMessage }
	return json.Unmarshal(e.body, &request) == nil && len(request.Settlements) > 0
}

var claimCases = []testCase{
	{
		name:     "lost-claim-answer",
		sentence: "a claim whose answer was lost or ruined costs neither an attempt nor its lease, also for jobs that start at most once",
		worker:   workerOptions{lease: 10 * time.Minute},
		run: func(t *test) {
			t.startWorker()
			for _, guarantee := range []string{"AT_LEAST_ONCE", "AT_MOST_ONCE"} {
				for _, r := range ruins() {
					lost := t.ruinAnswer(claimPath, r, hasClaims)
					id := t.createWith("noop", nil, fields{"type": guarantee})
					t.until("the lost answer: "+r.name, func() bool { return t.proxy.hits(lost) > 0 })
					t.succeeded(id)
					t.check(t.onlyAttempt(id).Attempt == 1, "%s: the lost claim was counted", r.name)
					t.check(t.worker.count("start", id) == 1, "%s: the handler started %d times", r.name, t.worker.count("start", id))
				}
			}
		},
	},
	{
		name:     "settle-with-claim",
		sentence: "a worker with one slot reports each outcome with its next claim",
		worker:   workerOptions{concurrency: 1},
		run: func(t *test) {
			t.startProxy()
			ids := t.createMany("noop", nil, 30)
			t.startWorker()
			t.succeeded(ids...)
			together := 0
			for _, e := range t.proxy.matching(claimPath, time.Time{}) {
				if settlesJobs(&e) {
					together++
				}
			}
			alone := len(t.proxy.matching(settlePath, time.Time{}))
			t.figure("%d claims with outcomes, %d outcomes alone", together, alone)
			t.check(together >= 25 && alone <= 5, "%d claims took outcomes along, %d requests reported outcomes alone", together, alone)
			for _, id := range ids {
				t.onlyAttempt(id)
			}
		},
	},
	{
		name:     "lost-claim-with-settlements",
		sentence: "outcomes that went with a claim whose answer was lost or ruined count once, and its jobs start once",
		worker:   workerOptions{concurrency: 1, lease: 10 * time.Minute},
		run: func(t *test) {
			t.startWorker()
			for _, r := range ruins() {
				lost := t.ruinAnswer(claimPath, r, settlesJobs)
				ids := t.createMany("echo", fields{"n": 1}, 4)
				t.until("the lost answer: "+r.name, func() bool { return t.proxy.hits(lost) > 0 })
				t.succeeded(ids...)
				for _, id := range ids {
					t.onlyAttempt(id)
					t.check(t.worker.count("start", id) == 1, "%s: the handler started %d times", r.name, t.worker.count("start", id))
				}
			}
		},
	},
	{
		name:     "odd-claims-with-settlements",
		sentence: "outcomes that went with a claim which a proxy answered in place of the server are not lost",
		worker:   workerOptions{concurrency: 1},
		run: func(t *test) {
			t.startWorker()
			for _, name := range sortedReplies() {
				odd := t.proxy.addFault(&fault{path: pattern(claimPath), action: oddAnswer, reply: oddReplies[name], request: settlesJobs, left: 1})
				ids := t.createMany("echo", fields{"n": 1}, 3)
				t.until("the answer: "+name, func() bool { return t.proxy.hits(odd) > 0 })
				t.succeeded(ids...)
				for _, id := range ids {
					t.onlyAttempt(id)
				}
			}
		},
	},
	{
		name:     "odd-enqueues",
		sentence: "an enqueue whose answer is lost or odd is repeated, and creates one job",
		run: func(t *test) {
			t.startWorker()
			for _, before := range []bool{true, false} {
				for _, r := range ruins() {
					if r.name == "403" || (before && r.action == halfAnswer) {
						continue
					}
					tag := fmt.Sprintf("%s-%v", r.name, before)
					isOurs := func(e *exchange) bool { return bytes.Contains(e.body, []byte(tag)) }
					f := &fault{path: pattern(`/jobs$`), method: http.MethodPost, action: r.action, reply: r.reply, left: 1}
					if before {
						f.request = isOurs
						if r.action == cutAfter {
							f.action = cutBefore
						}
					} else {
						f.answer = isOurs
					}
					t.proxy.addFault(f)
					options := fields{"jobName": "x", "delay": "1h", "tags": fields{"odd": tag}}
					id := t.create("enqueue", fields{"options": options})
					t.succeeded(id)
					t.onlyAttempt(id)
					t.check(t.proxy.hits(f) == 1, "%s: the enqueue was not hit", tag)
					var made struct{ ID string }
					t.noError(json.Unmarshal(t.onlyAttempt(id).Result, &made))
					found := t.tagged("odd:" + tag)
					t.check(len(found) == 1 && found[0].ID == made.ID, "%s: %d jobs were created", tag, len(found))
				}
			}
		},
	},
}
