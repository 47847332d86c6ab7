package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// proxy stands between the worker and the server. It records what is said, and loses what a case
// wants to be lost.
type proxy struct {
	upstream string
	listener net.Listener
	server   *http.Server
	client   *http.Transport

	mutex     sync.Mutex
	exchanges []*exchange
	faults    []*fault
	away      bool
	shift     time.Duration
	inFlight  map[*exchange]context.CancelFunc
}

// exchange is a request of the worker and its answer.
type exchange struct {
	at, answeredAt time.Time
	method, path   string
	key            string
	body, answer   []byte
	status         int
	fault          string
}

// fault is what happens to some of the requests.
type fault struct {
	path   *regexp.Regexp
	action action
	// if set, only requests of this method are hit
	method string
	// of the action oddAnswer
	reply reply
	// if set, only requests that it accepts are hit
	request func(*exchange) bool
	// if set, only exchanges whose answer it accepts are hit, after the server has done its part
	answer func(*exchange) bool
	delay  time.Duration
	left   int
	hits   int
}

// reply is an answer in place of the server's.
type reply struct {
	status int
	text   string
}

func (r reply) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	io.WriteString(w, r.text)
}

type action string

const (
	// the connection breaks before the server has seen the request
	cutBefore action = "cut before the server saw it"
	// the server has done its part, and the connection breaks before the answer arrives
	cutAfter action = "cut after the server answered"
	// the answer is held back
	delayAnswer action = "answer delayed"
	// the request vanishes, and its connection stays open
	blackHole action = "black hole"
	// the server has no jobs, and says so at once
	noJobs action = "no jobs"
	// the server answers 503
	unavailable action = "503"
	// the server answers 429, and asks for a pause of 2 s
	tooMany action = "429"
	// the server, or a proxy in front of it, answers something else
	oddAnswer action = "odd answer"
	// the second half of the answer is missing
	halfAnswer action = "half an answer"
)

func startProxy(upstream string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		upstream: upstream,
		listener: listener,
		client:   &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		inFlight: map[*exchange]context.CancelFunc{},
	}
	p.server = &http.Server{Handler: p}
	go p.server.Serve(listener)
	return p, nil
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) close() {
	p.setAway(true)
	p.server.Close()
	p.client.CloseIdleConnections()
}

// add makes the next requests to the path suffer; every one if times is 0.
func (p *proxy) add(path string, a action, times int) *fault {
	return p.addFault(&fault{path: regexp.MustCompile(path), action: a, left: times})
}

func (p *proxy) addFault(f *fault) *fault {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if f.left == 0 {
		f.left = 1 << 30
	}
	p.faults = append(p.faults, f)
	return f
}

func (p *proxy) hits(f *fault) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return f.hits
}

// remove ends a fault.
func (p *proxy) remove(f *fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f.left = 0
}

// setAway cuts what is under way and everything that comes, or stops doing so.
func (p *proxy) setAway(away bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.away = away
	if away {
		for _, cancel := range p.inFlight {
			cancel()
		}
	}
}

// shiftTimes makes every time of an answer wrong by this much, as if the worker's clock were.
func (p *proxy) shiftTimes(by time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.shift = by
}

// log is a copy of the exchanges so far.
func (p *proxy) log() []exchange {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	log := make([]exchange, len(p.exchanges))
	for i, e := range p.exchanges {
		log[i] = *e
	}
	return log
}

// matching are the exchanges whose path matches, since a moment.
func (p *proxy) matching(path string, since time.Time) []exchange {
	pattern := regexp.MustCompile(path)
	var found []exchange
	for _, e := range p.log() {
		if pattern.MatchString(e.path) && !e.at.Before(since) {
			found = append(found, e)
		}
	}
	return found
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut(w)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	e := &exchange{at: time.Now(), method: r.Method, path: r.URL.RequestURI(), body: body, key: r.Header.Get("Authorization")}
	f, away := p.begin(e, cancel)
	defer p.end(e)

	switch {
	case away:
		cut(w)
		return
	case f != nil && f.action == cutBefore:
		cut(w)
		return
	case f != nil && f.action == blackHole:
		<-ctx.Done()
		cut(w)
		return
	case f != nil && f.action == noJobs:
		p.answered(e, http.StatusOK, nil)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"claims":[]}`)
		return
	case f != nil && f.action == unavailable:
		p.refuse(e, w, http.StatusServiceUnavailable, "1")
		return
	case f != nil && f.action == oddAnswer:
		p.answered(e, f.reply.status, []byte(f.reply.text))
		f.reply.write(w)
		return
	case f != nil && f.action == tooMany:
		p.refuse(e, w, http.StatusTooManyRequests, "2")
		return
	}

	answer, text, err := p.forward(ctx, r, body)
	if err != nil {
		cut(w)
		return
	}
	p.answered(e, answer.StatusCode, text)
	if f == nil {
		f = p.faultOfAnswer(e)
	}
	if f != nil && f.action == cutAfter {
		cut(w)
		return
	}
	if f != nil && f.action == oddAnswer {
		f.reply.write(w)
		return
	}
	if f != nil && f.action == halfAnswer {
		reply{answer.StatusCode, string(text[:len(text)/2])}.write(w)
		return
	}
	if f != nil && f.action == delayAnswer {
		// whatever the worker does to its side of the connection meanwhile: the answer is on its way
		time.Sleep(f.delay)
	}
	p.respond(w, answer, text)
}

func (p *proxy) begin(e *exchange, cancel context.CancelFunc) (*fault, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.exchanges = append(p.exchanges, e)
	p.inFlight[e] = cancel
	if p.away {
		e.fault = "away"
		return nil, true
	}
	return p.take(e, false), false
}

func (p *proxy) end(e *exchange) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.inFlight, e)
}

func (p *proxy) faultOfAnswer(e *exchange) *fault {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.take(e, true)
}

func (p *proxy) take(e *exchange, answered bool) *fault {
	for _, f := range p.faults {
		isMethod := f.method == "" || f.method == e.method
		if f.left > 0 && isMethod && f.path.MatchString(e.path) && (f.answer != nil) == answered {
			if answered && !f.answer(e) || f.request != nil && !f.request(e) {
				continue
			}
			f.left--
			f.hits++
			e.fault = string(f.action)
			return f
		}
	}
	return nil
}

func (p *proxy) answered(e *exchange, status int, text []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	e.status, e.answer, e.answeredAt = status, text, time.Now()
}

func (p *proxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+p.upstream+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, values := range r.Header {
		if name != "Connection" && name != "Accept-Encoding" {
			request.Header[name] = values
		}
	}
	answer, err := p.client.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

func (p *proxy) respond(w http.ResponseWriter, answer *http.Response, text []byte) {
	p.mutex.Lock()
	shift := p.shift
	p.mutex.Unlock()
	for name, values := range answer.Header {
		if name != "Content-Length" && name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	if shift != 0 {
		text = shiftTimes(text, shift)
		w.Header().Set("Date", time.Now().Add(shift).UTC().Format(http.TimeFormat))
	}
	w.WriteHeader(answer.StatusCode)
	w.Write(text)
}

var timeInJSON = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

func shiftTimes(text []byte, by time.Duration) []byte {
	return timeInJSON.ReplaceAllFunc(text, func(quoted []byte) []byte {
		at, err := time.Parse(time.RFC3339Nano, strings.Trim(string(quoted), `"`))
		if err != nil {
			return quoted
		}
		return []byte(`"` + at.Add(by).UTC().Format(time.RFC3339Nano) + `"`)
	})
}

// cut breaks the connection without an answer.
func cut(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	connection.Close()
}

// refuse answers in place of the server, and asks for a pause.
func (p *proxy) refuse(e *exchange, w http.ResponseWriter, status int, retryAfter string) {
	p.answered(e, status, nil)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", retryAfter)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"about:blank","title":"a fault","status":%d,"code":"busy","detail":"a fault of the conformance proxy"}`, status)
}
