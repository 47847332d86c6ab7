package steadfast

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"steadfast.example/steadfast/api"
)

// TestMain runs more tests at once than there are processors: these tests mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "32")
	os.Exit(m.Run())
}

type answer struct {
	status int
	body   string
}

// What a server that is unwell, or a proxy in front of it, may answer.
var faults = map[string]answer{
	"an error":               {500, `{"code":"internal","detail":"a bug"}`},
	"a proxy without server": {502, "<html>Bad Gateway</html>"},
	"a server that is away":  {503, ""},
	"too many requests":      {429, `{"code":"busy","detail":"too many"}`},
	"a revoked key":          {403, `{"code":"forbidden","detail":"the key is revoked"}`},
	"rubbish":                {200, "<html>hello</html>"},
	"an empty object":        {200, "{}"},
	"an empty list":          {200, "[]"},
}

// faultyServer has one job, and gives prepared answers to the first requests whose method and path
// end in some way.
type faultyServer struct {
	client  *Client
	settled chan api.SettlementRequest

	mutex    sync.Mutex
	faults   map[string][]answer
	claims   []string
	steps    map[string]json.RawMessage
	requests map[string][]string
}

const claimText = `{"id":"job_1","fence":1,"job":{"id":"job_1","kind":"KIND","attempt":1,"leaseMs":30000,"payload":{}}}`

func newFaultyServer(t *testing.T, kind string) *faultyServer {
	t.Helper()
	s := &faultyServer{
		settled:  make(chan api.SettlementRequest, 10),
		faults:   map[string][]answer{},
		claims:   []string{strings.Replace(claimText, "KIND", kind, 1)},
		steps:    map[string]json.RawMessage{},
		requests: map[string][]string{},
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := NewClient(WithURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	return s
}

func (s *faultyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests[path] = append(s.requests[path], string(text))
	for end, answers := range s.faults {
		if strings.HasSuffix(r.Method+" "+path, end) && len(answers) > 0 {
			s.faults[end] = answers[1:]
			w.WriteHeader(answers[0].status)
			io.WriteString(w, answers[0].body)
			return
		}
	}
	switch {
	case path == "/claims":
		io.WriteString(w, `{"claims":[`+strings.Join(s.claims, ",")+`]}`)
		s.claims = nil
	case path == "/claims/heartbeat":
		io.WriteString(w, `{"claims":[{"ok":true}]}`)
	case path == "/claims/settle":
		settlements := readSettlements(text)
		json.NewEncoder(w).Encode(accepted(len(settlements)))
		for _, one := range settlements {
			s.settled <- one
		}
	case r.Method == http.MethodPut:
		var request api.SaveStepRequest
		json.Unmarshal(text, &request)
		s.steps[path] = request.Result
		io.WriteString(w, `{"result":`+string(request.Result)+`}`)
	case s.steps[path] != nil:
		io.WriteString(w, `{"result":`+string(s.steps[path])+`}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"code":"step_not_found","detail":"there is no such step"}`)
	}
}

func (s *faultyServer) count(path string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.requests[path])
}

// run starts a worker, and returns the first outcome that the server has confirmed.
func (s *faultyServer) run(t *testing.T, handlers *Handlers, options ...WorkerOption) api.SettlementRequest {
	t.Helper()
	options = append([]WorkerOption{WithoutSignals(), WithLogger(slog.New(slog.DiscardHandler))}, options...)
	worker, err := NewWorker(s.client, handlers, options...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case outcome := <-s.settled:
		return outcome
	case <-time.After(20 * time.Second):
		t.Fatal("no outcome was reported")
		panic("unreachable")
	}
}

type order struct{}

func (order) Kind() string { return "order" }

func TestAStepIsDoneOnceAlthoughTheServerIsUnwell(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		for name, fault := range faults {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				server := newFaultyServer(t, "order")
				// More than the tries of one call.
				server.faults[method+" /claims/job_1/steps/charge"] = []answer{fault, fault, fault, fault, fault}
				handlers, charges := NewHandlers(), 0
				HandleWithResult(handlers, func(ctx context.Context, _ *Job[order]) (string, error) {
					ctx, cancel := context.WithCancel(ctx)
					return Once(ctx, "charge", func(context.Context) (string, error) {
						charges++
						cancel() // The context of the caller is not that of the attempt.
						return "receipt", nil
					})
				})
				outcome := server.run(t, handlers)
				if outcome.Outcome != Succeed || string(outcome.Result) != `"receipt"` || charges != 1 {
					t.Errorf("%d charges, %+v %s", charges, outcome, outcome.Result)
				}
			})
		}
	}
}

func TestNoAnswerEndsAWorkerThatHasWorked(t *testing.T) {
	for _, path := range []string{"/claims", "/claims/settle", "/claims/heartbeat"} {
		for name, fault := range faults {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				server := newFaultyServer(t, "order")
				server.faults["POST "+path] = []answer{fault, fault}
				if path == "/claims" {
					// The first claim is answered, so that a refusal is no wrong setting.
					server.faults["POST "+path] = []answer{{200, `{"claims":[]}`}, fault}
				}
				handlers := NewHandlers()
				Handle(handlers, func(ctx context.Context, job *Job[order]) error {
					if path == "/claims/heartbeat" {
						job.Report(10, "begun")
						for server.count(path) < 3 && ctx.Err() == nil {
							time.Sleep(time.Millisecond)
						}
					}
					return context.Cause(ctx)
				})
				if outcome := server.run(t, handlers, WithLease(9*time.Second)); outcome.Outcome != Succeed {
					t.Errorf("%+v", outcome)
				}
			})
		}
	}
}

func TestAnswersOfAnOddShapeAreAskedForAgain(t *testing.T) {
	for path, bodies := range map[string][]string{
		"/claims":           {`{"claims":null}`, `{"claims":{}}`, `{"claims":[1]}`, `{"claims":[{}]}`, `{"claims":[{"id":"job_1","fence":1,"job":{}}]}`},
		"/claims/settle":    {`{"settled":[]}`, `{"settled":[{}]}`},
		"/claims/heartbeat": {`{"claims":[]}`, `{"claims":[{}]}`},
	} {
		for _, body := range bodies {
			t.Run(path+" "+body, func(t *testing.T) {
				t.Parallel()
				server := newFaultyServer(t, "order")
				server.faults["POST "+path] = []answer{{200, body}}
				handlers := NewHandlers()
				Handle(handlers, func(ctx context.Context, job *Job[order]) error {
					if path == "/claims/heartbeat" {
						job.Report(10, "begun")
						for server.count(path) < 2 && ctx.Err() == nil {
							time.Sleep(time.Millisecond)
						}
					}
					return context.Cause(ctx)
				})
				if outcome := server.run(t, handlers, WithLease(9*time.Second)); outcome.Outcome != Succeed {
					t.Errorf("%+v", outcome)
				}
			})
		}
	}
}

func TestAJobOfAnUnknownKindIsGivenBack(t *testing.T) {
	server := newFaultyServer(t, "of-another-service")
	handlers := NewHandlers()
	Handle(handlers, func(context.Context, *Job[order]) error { return nil })
	if outcome := server.run(t, handlers, WithTenant("shop")); outcome.Outcome != Release {
		t.Errorf("%+v", outcome)
	}
	var request api.ClaimJobsRequest
	json.Unmarshal([]byte(server.requests["/claims"][0]), &request)
	if request.Tenant != "shop" || len(request.Kinds) != 1 {
		t.Errorf("%+v", request)
	}
}

func TestEveryEnqueueCanBeRepeated(t *testing.T) {
	for name, fault := range faults {
		if name == "a revoked key" || strings.HasPrefix(name, "an empty") {
			continue
		}
		for _, many := range []bool{false, true} {
			server := newFaultyServer(t, "order")
			server.faults["POST /jobs"] = []answer{fault, {201, `{"id":"job_1","jobs":[{"id":"job_1"}]}`}}
			var err error
			if many {
				requests, _ := NewJobs([]order{{}})
				_, err = server.client.EnqueueMany(context.Background(), requests...)
			} else {
				_, err = server.client.Enqueue(context.Background(), order{})
			}
			sent := server.requests["/jobs"]
			if err != nil || len(sent) != 2 || sent[0] != sent[1] || !strings.Contains(sent[0], "idempotencyKey") {
				t.Errorf("%s: %v, %v", name, err, sent)
			}
		}
	}
}

func TestACallThatIsNoCreateIsNotRepeatedIfItMayHaveHadAnEffect(t *testing.T) {
	for name, tries := range map[string]int{"an error": 1, "a server that is away": 2, "too many requests": 2, "a revoked key": 1} {
		server := newFaultyServer(t, "order")
		server.faults["POST /jobs/job_1/cancel"] = []answer{faults[name], {200, "{}"}}
		server.client.CancelJob(context.Background(), "job_1")
		if sent := server.count("/jobs/job_1/cancel"); sent != tries {
			t.Errorf("%s: sent %d times", name, sent)
		}
	}
}

type checked struct{ Count int }

func (checked) Kind() string { return "checked" }

func (c checked) Validate() error {
	if c.Count < 1 {
		return errors.New("the count must be at least 1")
	}
	return nil
}

func TestAPayloadIsCheckedWhenItIsEnqueued(t *testing.T) {
	if _, err := NewJob(checked{}); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Error(err)
	}
	if _, err := NewJobs([]checked{{1}, {0}}); err == nil || !strings.Contains(err.Error(), "payload 1") {
		t.Error(err)
	}
	if _, err := NewJob(&checked{Count: 1}); err != nil {
		t.Error(err)
	}
}

func TestAFailureHasTheHTTPStatusThatCausedIt(t *testing.T) {
	outcome := OutcomeOf(WithClass("stripe", WithHTTPStatus(503, errors.New("unavailable"))))
	text, err := settlementText(&claim{job: &api.Job{}}, outcome, nil)
	if err != nil || !strings.Contains(string(text), `"httpStatus":503`) || !strings.Contains(string(text), `"stripe"`) {
		t.Errorf("%s, %v", text, err)
	}
	for status, isPermanent := range map[int]bool{404: true, 302: true, 429: false, 408: false, 503: false, 0: false} {
		if (&Failure{HTTPStatus: status}).IsPermanent() != isPermanent {
			t.Error(status)
		}
	}
}

func TestAHandlerHearsOfAStopBeforeTheGraceIsOver(t *testing.T) {
	server := newFaultyServer(t, "order")
	handlers, started := NewHandlers(), make(chan struct{})
	HandleWithResult(handlers, func(ctx context.Context, _ *Job[order]) (string, error) {
		close(started)
		select {
		case <-Stopping(ctx):
			return "saved", ctx.Err()
		case <-time.After(20 * time.Second):
			return "", errors.New("not told")
		}
	})
	worker, err := NewWorker(server.client, handlers, WithoutSignals(), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		<-started
		stop()
	}()
	if err := worker.Run(ctx); err != nil {
		t.Error(err)
	}
	if outcome := <-server.settled; string(outcome.Result) != `"saved"` {
		t.Errorf("%+v", outcome)
	}
}

func TestACertificateIsTrustedIfTheFileHasIt(t *testing.T) {
	reached := make(chan struct{}, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"claims":[]}`)
		select {
		case reached <- struct{}{}:
		default:
		}
	}))
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	handlers := NewHandlers()
	Handle(handlers, func(context.Context, *Job[order]) error { return nil })
	run := func() error {
		client, err := NewClient(WithURL(server.URL))
		if err != nil {
			return err
		}
		worker, err := NewWorker(client, handlers, WithoutSignals(), WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		go func() {
			select {
			case <-reached:
				cancel()
			case <-ctx.Done():
			}
		}()
		return worker.Run(ctx)
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a worker whose server is not trusted must end: %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	os.WriteFile(file, text, 0o600)
	t.Setenv("STEADFAST_CA_FILE", file)
	if err := run(); err != nil {
		t.Error(err)
	}
	os.WriteFile(file, []byte("nothing"), 0o600)
	if err := run(); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Error(err)
	}
}
