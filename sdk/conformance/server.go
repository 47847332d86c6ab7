package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// server is the real server, on an SQLite file unless told otherwise. It keeps its address and its file when it is killed
// and started again.
type server struct {
	bin, store, directory, address string
	process                        *exec.Cmd
	output                         bytes.Buffer
}

func startServer(bin, store string) (*server, error) {
	directory, err := os.MkdirTemp("", "steadfast-conformance-")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if store == "" {
		store = "sqlite:" + filepath.Join(directory, "steadfast.db")
	}
	s := &server{bin: bin, store: store, directory: directory, address: listener.Addr().String()}
	listener.Close()
	if err := s.start(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) start() error {
	s.output.Reset()
	s.process = exec.Command(s.bin, "serve", "--listen", s.address,
		"--store", s.store,
		"--sweep-every", "500ms", "--log-level", "warn")
	s.process.Dir = s.directory
	s.process.Env = environmentWithout("STEADFAST_")
	s.process.Stdout, s.process.Stderr = &s.output, &s.output
	if err := startProcess(s.process); err != nil {
		return fmt.Errorf("failed to start the server: %w", err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + s.address + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("the server was not ready within %v:\n%s", patience, &s.output)
}

// kill ends the server as a power cut would.
func (s *server) kill() {
	if s.process != nil && s.process.Process != nil {
		killProcess(s.process)
		s.process.Wait()
	}
}

func (s *server) close() {
	s.kill()
	os.RemoveAll(s.directory)
}

func environmentWithout(prefix string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, prefix) {
			kept = append(kept, variable)
		}
	}
	return kept
}
