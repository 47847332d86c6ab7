// Command river measures River on PostgreSQL as the conformance program's --bench measures a library
// of ours: the same number of jobs that do nothing and write the same two lines, then one at a time.
// DATABASE_URL names an empty database.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	concurrency = 100
	connections = 20
	singles     = 200
	enqueues    = 2000
)

type figures struct {
	Library           string  `json:"library"`
	Jobs              int     `json:"jobs"`
	Concurrency       int     `json:"concurrency"`
	JobsPerSecond     float64 `json:"jobsPerSecond"`
	EnqueuesPerSecond float64 `json:"enqueuesPerSecond"`
	CPUPerJobMicros   float64 `json:"cpuPerJobMicros"`
	StartP50Ms        float64 `json:"startP50Ms"`
	StartP99Ms        float64 `json:"startP99Ms"`
}

type noop struct{}

func (noop) Kind() string { return "noop" }

type worker struct {
	river.WorkerDefaults[noop]
	done    *atomic.Int64
	started chan time.Time
}

func (w *worker) Work(_ context.Context, job *river.Job[noop]) error {
	select {
	case w.started <- time.Now():
	default:
	}
	fmt.Printf("{\"event\":\"start\",\"job\":\"%d\"}\n", job.ID)
	fmt.Printf("{\"event\":\"end\",\"job\":\"%d\"}\n", job.ID)
	w.done.Add(1)
	return nil
}

func main() {
	jobs := flag.Int("jobs", 20000, "how many jobs")
	flag.Parse()
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	check(err)
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	check(err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)

	w := &worker{done: new(atomic.Int64), started: make(chan time.Time, 1)}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: concurrency}},
		Workers: workers,
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	check(err)
	result := figures{Library: "river", Jobs: *jobs, Concurrency: concurrency}
	enqueue(ctx, client, &result)
	many(ctx, client, pool, w, &result)
	single(ctx, client, w, &result)
	check(client.Stop(ctx))
	check(json.NewEncoder(os.Stderr).Encode(result))
}

// enqueue inserts jobs one by one, 50 at a time.
func enqueue(ctx context.Context, client *river.Client[pgx.Tx], result *figures) {
	start := time.Now()
	var left atomic.Int64
	left.Store(enqueues)
	var group sync.WaitGroup
	for range 50 {
		group.Add(1)
		go func() {
			defer group.Done()
			for left.Add(-1) >= 0 {
				_, err := client.Insert(ctx, noop{}, nil)
				check(err)
			}
		}()
	}
	group.Wait()
	result.EnqueuesPerSecond = enqueues / time.Since(start).Seconds()
}

// many runs jobs that are all there when the worker starts.
func many(ctx context.Context, client *river.Client[pgx.Tx], pool *pgxpool.Pool, w *worker, result *figures) {
	for made := enqueues; made < result.Jobs; {
		batch := make([]river.InsertManyParams, min(1000, result.Jobs-made))
		for i := range batch {
			batch[i].Args = noop{}
		}
		_, err := client.InsertMany(ctx, batch)
		check(err)
		made += len(batch)
	}
	cpu, start := cpuTime(), time.Now()
	check(client.Start(ctx))
	for left := result.Jobs; left > 0; time.Sleep(10 * time.Millisecond) {
		if w.done.Load() >= int64(result.Jobs) {
			check(pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left))
		}
	}
	result.JobsPerSecond = float64(result.Jobs) / time.Since(start).Seconds()
	result.CPUPerJobMicros = float64((cpuTime() - cpu).Microseconds()) / float64(result.Jobs)
}

// single measures from the insert to the start of the handler, on an idle worker.
func single(ctx context.Context, client *river.Client[pgx.Tx], w *worker, result *figures) {
	<-w.started
	latencies := make([]float64, 0, singles)
	for range singles {
		created := time.Now()
		_, err := client.Insert(ctx, noop{}, nil)
		check(err)
		latencies = append(latencies, float64((<-w.started).Sub(created).Microseconds())/1000)
	}
	sort.Float64s(latencies)
	result.StartP50Ms, result.StartP99Ms = latencies[singles/2], latencies[singles*99/100]
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
