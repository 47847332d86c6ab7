package steadfast_test

import (
	"archive/zip"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
	"steadfast.example/steadfast/steadfasttest"
)

// The first code of the README is a whole program. It is compiled in an empty project, which gets
// this module as from a proxy, and run. The other pieces are tests there.
func TestTheCodeOfTheReadme(t *testing.T) {
	server := steadfasttest.StartServer(t)
	readme, err := os.ReadFile("README.md")
	check(t, err)
	var blocks []string
	for _, match := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		blocks = append(blocks, match[1])
	}
	if len(blocks) != 6 {
		t.Fatalf("the README has %d pieces of Go", len(blocks))
	}
	directory := t.TempDir()
	check(t, os.WriteFile(filepath.Join(directory, "main.go"), []byte(blocks[0]), 0o644))
	pieces := strings.NewReplacer("ENQUEUE", blocks[1], "ORDERED", blocks[2], "ONCE", blocks[3], "LIST", blocks[4], "RUNNER", blocks[5]).Replace(around)
	check(t, os.WriteFile(filepath.Join(directory, "pieces_test.go"), []byte(pieces), 0o644))
	serveModule(t, filepath.Join(directory, "proxy"))
	for _, arguments := range [][]string{
		{"mod", "init", "welcome"},
		{"get", "steadfast.example/steadfast@" + moduleVersion},
		{"test", "."},
		{"build", "-o", "welcome", "."},
	} {
		command := exec.Command("go", arguments...)
		command.Dir = directory
		command.Env = append(os.Environ(), "GOPROXY=file://"+directory+"/proxy", "GOSUMDB=off", "GOWORK=off",
			"GOFLAGS=-modcacherw", "GOMODCACHE="+directory+"/cache", "STEADFAST_URL="+server.Client.URL, "STEADFAST_API_KEY=")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", arguments, err, output)
		}
	}
	runProgram(t, server, filepath.Join(directory, "welcome"))
}

// What a program around the other pieces of the README would have.
const around = `package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
	"steadfast.example/steadfast/steadfasttest"
)

type Purchase struct{ Order int }

func (Purchase) Kind() string { return "purchase" }

type Receipt struct{ Order int }

func (Receipt) Kind() string { return "receipt" }

type Charge string

type paymentService struct{}

func (paymentService) Charge(_ context.Context, order int) (Charge, error) {
	return Charge(fmt.Sprint("charge of ", order)), nil
}

var payments paymentService

func enqueue(ctx context.Context, client *steadfast.Client) {
ENQUEUE
}

func ordered(ctx context.Context, client *steadfast.Client) error {
ORDERED
	return nil
}

func purchase(ctx context.Context, job *steadfast.Job[Purchase]) error {
ONCE
	if charge != "charge of 7" {
		return fmt.Errorf("%v", charge)
	}
	return err
}

func list(ctx context.Context, client *steadfast.Client) error {
LIST
	return nil
}

func TestPieces(t *testing.T) {
	ctx := context.Background()
	client, err := steadfast.NewClient()
	check(err)
	enqueue(ctx, client)
	check(ordered(ctx, client))
	check(list(ctx, client))

	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, purchase)
	steadfast.Handle(handlers, func(_ context.Context, job *steadfast.Job[Welcome]) error {
		if job.Attempt == 1 {
			return errors.New("not yet")
		}
		return nil
	})
RUNNER
	bought, _ := runner.Enqueue(Purchase{Order: 7})
	runner.Run(ctx)
	for _, one := range []*steadfasttest.Job{job, bought} {
		if one.Label != api.JobLabelSucceeded {
			t.Errorf("%s is %s: %+v", one.Kind, one.Label, one.Failure)
		}
	}
	if made := runner.Jobs(); made[len(made)-1].Kind != "receipt" {
		t.Errorf("%+v", made)
	}
}
`

// runProgram runs the first program of the README until its job has succeeded.
func runProgram(t *testing.T, server *steadfasttest.Server, path string) {
	t.Helper()
	run := exec.Command(path)
	run.Env = append(os.Environ(), "STEADFAST_URL="+server.Client.URL, "STEADFAST_API_KEY=")
	output := &strings.Builder{}
	run.Stdout, run.Stderr = output, output
	check(t, run.Start())
	deadline := time.Now().Add(20 * time.Second)
	for {
		list, err := server.Client.ListJobs(context.Background(), api.ListJobsParams{Kind: "welcome-email", Label: api.JobLabelSucceeded})
		check(t, err)
		if len(list.Jobs) == 1 {
			break
		}
		if time.Now().After(deadline) {
			run.Process.Kill()
			run.Wait()
			t.Fatalf("the job did not succeed: %s", output)
		}
		time.Sleep(10 * time.Millisecond)
	}
	run.Process.Signal(syscall.SIGTERM)
	if err := run.Wait(); err != nil || !strings.Contains(output.String(), "Welcome, ada@example.com") {
		t.Errorf("%v: %s", err, output)
	}
}

const moduleVersion = "v" + steadfast.Version

// serveModule writes this module as a module proxy has it, so that nothing outside its files can be
// needed.
func serveModule(t *testing.T, directory string) {
	t.Helper()
	served := filepath.Join(directory, "steadfast.example", "steadfast", "@v")
	check(t, os.MkdirAll(served, 0o755))
	module, err := os.ReadFile("go.mod")
	check(t, err)
	check(t, os.WriteFile(filepath.Join(served, moduleVersion+".mod"), module, 0o644))
	check(t, os.WriteFile(filepath.Join(served, moduleVersion+".info"), []byte(`{"Version":"`+moduleVersion+`"}`), 0o644))
	archive, err := os.Create(filepath.Join(served, moduleVersion+".zip"))
	check(t, err)
	writer := zip.NewWriter(archive)
	check(t, fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == ".build" || path != "." && isModule(path)):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := writer.Create("steadfast.example/steadfast@" + moduleVersion + "/" + path)
		if err == nil {
			_, err = file.Write(text)
		}
		return err
	}))
	check(t, writer.Close())
	check(t, archive.Close())
}

// isModule tells whether a directory is a module of its own, which is no part of this one.
func isModule(directory string) bool {
	_, err := os.Stat(filepath.Join(directory, "go.mod"))
	return err == nil
}
