package steadfast

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"steadfast.example/steadfast/api"
)

const (
	// The server keeps this much of the log of an attempt.
	logLinesMax = 1000
	logBytesMax = 64 << 10
	logLineMax  = 8 << 10
	// Lines of logs in one request of heartbeats, as JSON. The server accepts bodies of 1 MiB. One full log
	// always fits: JSON has at most six bytes for each byte of text, and some around each line.
	logBytesPerRequest = 512 << 10
)

// attemptLog has the newest lines that an attempt logged. Lines are numbered from 0, so that a request
// can be repeated without storing a line twice.
type attemptLog struct {
	lines []loggedLine
	bytes int
	// numbers of the oldest line that is kept, and of the first that the server has not stored
	first, stored int
}

type loggedLine struct {
	api.LogLine
	// its length as JSON
	size int
}

func (l *attemptLog) add(line api.LogLine) {
	if len(line.Text) > logLineMax {
		line.Text = strings.ToValidUTF8(line.Text[:logLineMax-3], "") + "…"
	}
	text, _ := json.Marshal(line)
	l.lines = append(l.lines, loggedLine{line, len(text)})
	l.bytes += len(line.Text)
	drop := 0
	for len(l.lines)-drop > logLinesMax || l.bytes > logBytesMax {
		l.bytes -= len(l.lines[drop].Text)
		drop++
	}
	if drop > 0 {
		l.first += drop
		l.lines = append([]loggedLine(nil), l.lines[drop:]...)
	}
}

// unsent are the lines that are not stored, their length as JSON, and the number of the line after them.
func (l *attemptLog) unsent() (*api.LogLines, int, int) {
	from, next := max(l.first, l.stored), l.first+len(l.lines)
	if from >= next {
		return nil, 0, next
	}
	var lines []api.LogLine
	size := 0
	for _, line := range l.lines[from-l.first:] {
		lines = append(lines, line.LogLine)
		size += line.size + len(",")
	}
	return &api.LogLines{From: api.Ptr(from), Lines: lines}, size, next
}

// Log adds a line to the log of this attempt, which people read on the page of the job and with
// `steadfast jobs logs`. The newest 1,000 lines or 64 KiB are kept. [NewLogHandler] does it for everything
// that a program logs with log/slog.
func (j *Job[P]) Log(level slog.Level, text string) {
	j.attempt.store.Log(newLogLine(time.Now(), level, text))
}

func newLogLine(at time.Time, level slog.Level, text string) api.LogLine {
	name := api.LogLevelDebug
	switch {
	case level >= slog.LevelError:
		name = api.LogLevelError
	case level >= slog.LevelWarn:
		name = api.LogLevelWarn
	case level >= slog.LevelInfo:
		name = api.LogLevelInfo
	}
	// A record may have no time, and JSON has none outside of these years.
	if at.Year() < 1970 || at.Year() > 9999 {
		at = time.Now()
	}
	return api.LogLine{At: at.UTC(), Level: name, Text: text}
}

// NewLogHandler returns a handler for log/slog that passes every record on to next. A record that is
// logged with the context of a job's handler (slog.InfoContext) also goes to the log of that attempt.
func NewLogHandler(next slog.Handler) slog.Handler {
	return &logHandler{next: next}
}

type logHandler struct {
	next slog.Handler
	// attributes of the logger as text, and the prefix of the names of further ones
	attributes, prefix string
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	isLogged := attemptFrom(ctx) != nil && level >= slog.LevelInfo
	return isLogged || h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	if a := attemptFrom(ctx); a != nil {
		text := strings.Builder{}
		text.WriteString(record.Message)
		text.WriteString(h.attributes)
		record.Attrs(func(attribute slog.Attr) bool {
			writeAttribute(&text, h.prefix, attribute)
			return true
		})
		a.store.Log(newLogLine(record.Time, record.Level, text.String()))
	}
	if !h.next.Enabled(ctx, record.Level) {
		return nil
	}
	return h.next.Handle(ctx, record)
}

func (h *logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	text := strings.Builder{}
	text.WriteString(h.attributes)
	for _, attribute := range attributes {
		writeAttribute(&text, h.prefix, attribute)
	}
	return &logHandler{next: h.next.WithAttrs(attributes), attributes: text.String(), prefix: h.prefix}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{next: h.next.WithGroup(name), attributes: h.attributes, prefix: h.prefix + name + "."}
}

func writeAttribute(text *strings.Builder, prefix string, attribute slog.Attr) {
	value := attribute.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attribute.Key != "" {
			prefix += attribute.Key + "."
		}
		for _, inner := range value.Group() {
			writeAttribute(text, prefix, inner)
		}
		return
	}
	if attribute.Key != "" {
		text.WriteString(" " + prefix + attribute.Key + "=" + value.String())
	}
}
