package steadfasttest

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
)

// startLimit is how long a server may take until it answers.
const startLimit = 20 * time.Second

// Server is a real server in memory, on a clock that only the test moves: a job that "fails twice,
// then succeeds" needs two calls of [Server.Advance] and no sleep.
type Server struct {
	// Client of the server.
	Client *steadfast.Client
	t      testing.TB
}

// StartServer starts the binary that STEADFAST_BIN names, or steadfast of the PATH, and ends it with
// the test. Without a binary the test is skipped.
func StartServer(t testing.TB) *Server {
	t.Helper()
	binary := os.Getenv("STEADFAST_BIN")
	if binary == "" {
		found, err := exec.LookPath("steadfast")
		if err != nil {
			t.Skip("there is no server: set STEADFAST_BIN, or install steadfast")
		}
		binary = found
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	output := &bytes.Buffer{}
	process := exec.Command(binary, "serve", "--listen", address, "--store", "memory:", "--clock", "manual", "--log-level", "warn")
	process.Dir = t.TempDir()
	process.Stdout, process.Stderr = output, output
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "STEADFAST_") {
			process.Env = append(process.Env, variable)
		}
	}
	if err := process.Start(); err != nil {
		t.Fatalf("failed to start %s: %v", binary, err)
	}
	t.Cleanup(func() {
		process.Process.Kill()
		process.Wait()
	})
	client, err := steadfast.NewClient(steadfast.WithURL("http://"+address), steadfast.WithAPIKey(""))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(startLimit); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			answer.Body.Close()
			return &Server{Client: client, t: t}
		}
		if time.Now().After(deadline) {
			process.Process.Kill()
			process.Wait()
			t.Fatalf("the server did not answer within %v:\n%s", startLimit, output)
		}
	}
}

// Advance moves the clock of the server.
func (s *Server) Advance(by time.Duration) {
	s.t.Helper()
	if _, err := s.Client.AdvanceClock(context.Background(), api.AdvanceClockRequest{By: api.Duration(by)}); err != nil {
		s.t.Fatalf("failed to advance the clock: %v", err)
	}
}

// RunUntilIdle waits until nothing is due and nothing runs at the current time of the server, ten
// seconds at most, and returns what is left.
func (s *Server) RunUntilIdle() *api.Idle {
	s.t.Helper()
	left, err := s.Client.RunUntilIdle(context.Background(), api.RunUntilIdleRequest{})
	if err != nil {
		s.t.Fatalf("failed to wait for the server: %v", err)
	}
	return left
}

// StartWorker runs a worker until the test ends.
func (s *Server) StartWorker(handlers *steadfast.Handlers, options ...steadfast.WorkerOption) {
	s.t.Helper()
	options = append([]steadfast.WorkerOption{steadfast.WithGrace(time.Second), steadfast.WithoutSignals()}, options...)
	worker, err := steadfast.NewWorker(s.Client, handlers, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("worker: %v", err)
		}
	})
}
