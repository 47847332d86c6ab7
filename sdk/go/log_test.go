package steadfast

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"steadfast.example/steadfast/api"
)

func TestTheNewestLinesAreKeptAndSentOnce(t *testing.T) {
	var log attemptLog
	for range logLinesMax + 5 {
		log.add(api.LogLine{Text: "line"})
	}
	lines, size, next := log.unsent()
	if *lines.From != 5 || len(lines.Lines) != logLinesMax || next != logLinesMax+5 {
		t.Fatalf("from %d, %d lines, next %d", *lines.From, len(lines.Lines), next)
	}
	if text, _ := json.Marshal(lines.Lines); size != len(text)-1 {
		t.Fatalf("%d bytes as JSON, not %d", len(text), size)
	}
	log.stored = next
	if lines, _, _ := log.unsent(); lines != nil {
		t.Fatalf("%d lines are sent again", len(lines.Lines))
	}
	log.add(api.LogLine{Text: strings.Repeat("é", logLineMax)})
	lines, _, _ = log.unsent()
	if *lines.From != next || len(lines.Lines[0].Text) > logLineMax || !strings.HasSuffix(lines.Lines[0].Text, "…") {
		t.Fatalf("from %d, %d bytes", *lines.From, len(lines.Lines[0].Text))
	}
	for range 20 {
		log.add(api.LogLine{Text: strings.Repeat("x", logLineMax)})
	}
	if log.bytes > logBytesMax {
		t.Fatalf("%d bytes are kept", log.bytes)
	}
}

// fullLog logs as much as is kept, in text that JSON has six bytes for each byte of.
func fullLog(c *claim) {
	text := strings.Repeat("<", logBytesMax/logLinesMax)
	for range logLinesMax {
		c.Log(newLogLine(time.Now(), slog.LevelError, text))
	}
}

func TestHeartbeatsWithFullLogsFitIntoRequests(t *testing.T) {
	var sizes, logs []int
	client := fakeServer(t, func(body []byte) (int, any) {
		var request api.HeartbeatsRequest
		json.Unmarshal(body, &request)
		count, results := 0, make([]api.HeartbeatResult, len(request.Claims))
		for i, entry := range request.Claims {
			results[i].Ok = true
			if entry.Log != nil {
				count++
			}
		}
		sizes, logs = append(sizes, len(body)), append(logs, count)
		return 200, api.HeartbeatList{Claims: results}
	})
	held := newHeldClaims()
	claims := make([]*claim, 4)
	for i := range claims {
		claims[i] = newTestClaim(held, fmt.Sprint("job_", i), time.Minute)
		fullLog(claims[i])
	}
	h := &heartbeats{client: client, held: held, log: slog.New(slog.DiscardHandler)}
	for range claims {
		h.send(context.Background(), claims)
	}
	for i, size := range sizes {
		if size > 1<<20 || logs[i] != 1 {
			t.Errorf("request %d has %d logs and %d bytes", i, logs[i], size)
		}
	}
	for _, c := range claims {
		if c.unsentLog() != nil {
			t.Errorf("the log of %s was not sent", c.job.ID)
		}
	}
}

func TestLeasesAreRenewedWithoutALogThatIsRefused(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		requests := 0
		client := fakeServer(t, func(body []byte) (int, any) {
			requests++
			if strings.Contains(string(body), `"log"`) {
				return status, api.Error{Code: "refused", Detail: "bad log"}
			}
			return 200, api.HeartbeatList{Claims: []api.HeartbeatResult{{Ok: true}}}
		})
		held := newHeldClaims()
		c := newTestClaim(held, "job_1", time.Minute)
		c.renewed(time.Now().Add(-40 * time.Second))
		c.Log(newLogLine(time.Now(), slog.LevelInfo, "a line"))
		h := &heartbeats{client: client, held: held, log: slog.New(slog.DiscardHandler)}
		h.send(context.Background(), []*claim{c})
		if requests != 2 || c.unsentLog() != nil || time.Until(c.leaseEnd()) < 30*time.Second {
			t.Errorf("%d: %d requests, the lease ends in %v", status, requests, time.Until(c.leaseEnd()))
		}
	}
}

func TestALogDoesNotTurnASuccessIntoAFailure(t *testing.T) {
	final := map[string]api.SettlementRequest{}
	client := fakeServer(t, func(body []byte) (int, any) {
		sent := readSettlements(body)
		for i, s := range sent {
			if s.Log != nil && s.Log.Lines[0].Text == "bad" {
				return 422, api.Error{Code: "invalid", Detail: "bad log", Field: fmt.Sprintf("settlements[%d].log", i)}
			}
		}
		for _, s := range sent {
			final[s.ID] = s
		}
		return 200, accepted(len(sent))
	})
	success := func(c *claim, text string) Outcome {
		c.Log(newLogLine(time.Now(), slog.LevelInfo, text))
		return Outcome{Verb: Succeed, Result: []byte(`1`)}
	}
	held, s := newTestSettler(client)
	for i, text := range []string{"good", "bad", "good"} {
		c := newTestClaim(held, fmt.Sprint("job_", i), time.Minute)
		s.add(c, success(c, text), func() {})
	}
	settle(t, s)
	for i := range 3 {
		settled := final[fmt.Sprint("job_", i)]
		if settled.Outcome != Succeed || (settled.Log == nil) != (i == 1) {
			t.Errorf("%d: %+v", i, settled)
		}
	}
}

func TestALogIsLeftOutIfItDoesNotFitBesideTheResult(t *testing.T) {
	held := newHeldClaims()
	c := newTestClaim(held, "job_1", time.Minute)
	fullLog(c)
	large := settlement{claim: c}
	large.write(Outcome{Verb: Succeed, Result: []byte(`"` + strings.Repeat("x", 600<<10) + `"`)})
	small := settlement{claim: c}
	small.write(Outcome{Verb: Succeed})
	if large.hasLog || len(large.body) > settlementBytesMax || !small.hasLog || len(small.body) > settlementBytesMax {
		t.Errorf("%d and %d bytes", len(large.body), len(small.body))
	}
}

func TestARecordWithoutATimeIsLoggedWithTheCurrentOne(t *testing.T) {
	for _, at := range []time.Time{{}, time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)} {
		line := newLogLine(at, slog.LevelInfo, "text")
		if _, err := json.Marshal(line); err != nil || time.Since(line.At) > time.Hour {
			t.Errorf("%v: %v", line.At, err)
		}
	}
}

type loggingStore struct {
	AttemptStore
	lines []api.LogLine
}

func (s *loggingStore) Log(line api.LogLine) { s.lines = append(s.lines, line) }

func TestRecordsWithTheContextOfAHandlerGoToItsLog(t *testing.T) {
	next := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError})
	logger := slog.New(NewLogHandler(next)).With("shop", 7).WithGroup("order")
	store := &loggingStore{}
	ctx := context.WithValue(context.Background(), attemptKey{}, &attempt{store: store})
	logger.InfoContext(ctx, "sent", "id", 3, slog.Group("to", "city", "Ulm"))
	logger.DebugContext(ctx, "hidden")
	logger.ErrorContext(context.Background(), "elsewhere")
	if len(store.lines) != 1 || store.lines[0].Level != api.LogLevelInfo || store.lines[0].Text != "sent shop=7 order.id=3 order.to.city=Ulm" {
		t.Fatalf("%+v", store.lines)
	}
}
