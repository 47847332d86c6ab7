package steadfast

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"steadfast.example/steadfast/api"
)

func TestTheNewestLinesAreKeptAndSentOnce(t *testing.T) {
	var log attemptLog
	for range logLinesMax + 5 {
		log.add(api.LogLine{Text: "line"})
	}
	lines, length, next := log.unsent()
	if *lines.From != 5 || len(lines.Lines) != logLinesMax || length != 4*logLinesMax || next != logLinesMax+5 {
		t.Fatalf("from %d, %d lines, %d bytes, next %d", *lines.From, len(lines.Lines), length, next)
	}
	log.stored = next
	if lines, _, _ := log.unsent(); lines != nil {
		t.Fatalf("%d lines are sent again", len(lines.Lines))
	}
	log.add(api.LogLine{Text: strings.Repeat("é", logLineMax)})
	lines, length, _ = log.unsent()
	if *lines.From != next || length > logLineMax || !strings.HasSuffix(lines.Lines[0].Text, "…") {
		t.Fatalf("from %d, %d bytes", *lines.From, length)
	}
	for range 20 {
		log.add(api.LogLine{Text: strings.Repeat("x", logLineMax)})
	}
	if log.bytes > logBytesMax {
		t.Fatalf("%d bytes are kept", log.bytes)
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
