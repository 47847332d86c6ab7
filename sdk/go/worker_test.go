package steadfast

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"steadfast.example/steadfast/api"
)

type nothing struct{}

func (nothing) Kind() string { return "nothing" }

// BenchmarkWorker is the cost of a job in the library and its HTTP, beside a server that does
// nothing.
func BenchmarkWorker(b *testing.B) {
	var claimed, settled atomic.Int64
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Max         int
			Settlements []json.RawMessage
		}
		json.NewDecoder(r.Body).Decode(&request)
		if r.URL.Path == "/api/v1/claims/settle" {
			json.NewEncoder(w).Encode(accepted(len(request.Settlements)))
			if settled.Add(int64(len(request.Settlements))) == int64(b.N) {
				close(done)
			}
			return
		}
		first := claimed.Add(int64(request.Max)) - int64(request.Max)
		claims := []map[string]any{}
		for i := first; i < min(first+int64(request.Max), int64(b.N)); i++ {
			claims = append(claims, map[string]any{"fence": 1, "job": api.Job{ID: fmt.Sprint("job_", i), Kind: "nothing", LeaseMs: 30_000}})
		}
		if len(claims) == 0 {
			<-r.Context().Done()
		}
		json.NewEncoder(w).Encode(map[string]any{"claims": claims})
	}))
	defer server.Close()
	client, err := NewClient(WithURL(server.URL))
	if err != nil {
		b.Fatal(err)
	}
	handlers := NewHandlers()
	Handle(handlers, func(context.Context, *Job[nothing]) error { return nil })
	worker, err := NewWorker(client, handlers, WithConcurrency(100), WithoutSignals(), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	b.ResetTimer()
	go func() { ended <- worker.Run(ctx) }()
	<-done
	b.StopTimer()
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
