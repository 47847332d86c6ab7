// Command asynq measures Asynq on Redis: single enqueues, 50 at a time, and a drain of jobs that do
// nothing. REDIS_PORT names an empty Redis; the figures go to stderr.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
)

const (
	concurrency = 100
	enqueues    = 2000
	oneByOne    = 500
)

type figures struct {
	Library           string  `json:"library"`
	Jobs              int     `json:"jobs"`
	Concurrency       int     `json:"concurrency"`
	JobsPerSecond     float64 `json:"jobsPerSecond"`
	EnqueuesPerSecond float64 `json:"enqueuesPerSecond"`
	OneByOnePerSecond float64 `json:"oneByOnePerSecond"`
	CPUPerJobMicros   float64 `json:"cpuPerJobMicros"`
}

func main() {
	jobs := flag.Int("jobs", 20000, "how many jobs")
	flag.Parse()
	redis := asynq.RedisClientOpt{Addr: "127.0.0.1:" + os.Getenv("REDIS_PORT")}
	client := asynq.NewClient(redis)
	result := figures{Library: "asynq", Jobs: *jobs, Concurrency: concurrency}
	result.EnqueuesPerSecond = enqueues / enqueue(client, enqueues).Seconds()
	enqueue(client, *jobs-enqueues)
	cpu := cpuTime()
	result.JobsPerSecond = float64(*jobs) / drain(redis, concurrency, *jobs).Seconds()
	result.CPUPerJobMicros = float64((cpuTime() - cpu).Microseconds()) / float64(*jobs)
	enqueue(client, oneByOne)
	result.OneByOnePerSecond = oneByOne / drain(redis, 1, oneByOne).Seconds()
	check(json.NewEncoder(os.Stderr).Encode(result))
}

func enqueue(client *asynq.Client, count int) time.Duration {
	start := time.Now()
	var left atomic.Int64
	left.Store(int64(count))
	var group sync.WaitGroup
	for range 50 {
		group.Add(1)
		go func() {
			defer group.Done()
			for left.Add(-1) >= 0 {
				_, err := client.Enqueue(asynq.NewTask("noop", nil))
				check(err)
			}
		}()
	}
	group.Wait()
	return time.Since(start)
}

// drain runs what waits, and returns when Redis has no job left.
func drain(redis asynq.RedisClientOpt, slots, jobs int) time.Duration {
	var done atomic.Int64
	server := asynq.NewServer(redis, asynq.Config{Concurrency: slots, LogLevel: asynq.FatalLevel})
	start := time.Now()
	check(server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		fmt.Println(`{"event":"start"}`)
		fmt.Println(`{"event":"end"}`)
		done.Add(1)
		return nil
	})))
	inspector := asynq.NewInspector(redis)
	for {
		if done.Load() >= int64(jobs) {
			info, err := inspector.GetQueueInfo("default")
			check(err)
			if info.Active == 0 && info.Pending == 0 {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	taken := time.Since(start)
	server.Shutdown()
	return taken
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
