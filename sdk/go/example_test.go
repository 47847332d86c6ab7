package steadfast_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"steadfast.example/steadfast"
	"steadfast.example/steadfast/api"
	"steadfast.example/steadfast/steadfasttest"
)

type Invoice struct {
	Order int `json:"order"`
}

func (Invoice) Kind() string { return "invoice" }

// EnqueueOptions are the defaults of every invoice.
func (Invoice) EnqueueOptions() []steadfast.EnqueueOption {
	return []steadfast.EnqueueOption{steadfast.Queue("billing")}
}

type Receipt struct {
	Order int `json:"order"`
}

func (Receipt) Kind() string { return "receipt" }

func ExampleHandle() {
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(ctx context.Context, job *steadfast.Job[Invoice]) error {
		fmt.Println("attempt", job.Attempt, "of order", job.Payload.Order)
		if job.Attempt == 1 {
			return errors.New("the printer is away")
		}
		return nil
	})

	runner := steadfasttest.NewRunner(handlers)
	job, _ := runner.Enqueue(Invoice{Order: 7})
	runner.RunAll(context.Background())
	fmt.Println(job.Queue, job.Label)
	// Output:
	// attempt 1 of order 7
	// attempt 2 of order 7
	// billing succeeded
}

func ExampleHandleWithResult() {
	handlers := steadfast.NewHandlers()
	steadfast.HandleWithResult(handlers, func(ctx context.Context, job *steadfast.Job[Invoice]) (string, error) {
		return fmt.Sprintf("invoice-%d.pdf", job.Payload.Order), nil
	})

	runner := steadfasttest.NewRunner(handlers)
	job, _ := runner.Enqueue(Invoice{Order: 7})
	runner.Run(context.Background())
	fmt.Printf("%s\n", job.Outcomes[0].Result)
	// Output: "invoice-7.pdf"
}

func ExampleOnce() {
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(ctx context.Context, job *steadfast.Job[Invoice]) error {
		charge, err := steadfast.Once(ctx, "charge", func(context.Context) (string, error) {
			fmt.Println("charged")
			return "ch_1", nil
		})
		if err != nil {
			return err
		}
		if job.Attempt < 3 {
			return errors.New("no paper")
		}
		fmt.Println("printed", charge)
		return nil
	})

	runner := steadfasttest.NewRunner(handlers)
	runner.Enqueue(Invoice{Order: 7})
	runner.RunAll(context.Background())
	// Output:
	// charged
	// printed ch_1
}

func ExampleJob_OnSuccess() {
	handlers := steadfast.NewHandlers()
	steadfast.Handle(handlers, func(ctx context.Context, job *steadfast.Job[Invoice]) error {
		return job.OnSuccess(Receipt{Order: job.Payload.Order})
	})
	steadfast.Handle(handlers, func(ctx context.Context, job *steadfast.Job[Receipt]) error {
		fmt.Println("receipt of order", job.Payload.Order)
		return nil
	})

	runner := steadfasttest.NewRunner(handlers)
	runner.Enqueue(Invoice{Order: 7})
	runner.Run(context.Background())
	// Output: receipt of order 7
}

func ExampleSnooze() {
	handlers := steadfast.NewHandlers()
	handled := 0
	steadfast.Handle(handlers, func(ctx context.Context, job *steadfast.Job[Invoice]) error {
		if handled++; handled < 3 {
			return steadfast.Snooze(time.Hour)
		}
		fmt.Println("attempt", job.Attempt)
		return nil
	})

	runner := steadfasttest.NewRunner(handlers)
	runner.Enqueue(Invoice{Order: 7})
	runner.RunAll(context.Background())
	// Output: attempt 1
}

func ExampleHandlers_Use() {
	handlers := steadfast.NewHandlers()
	handlers.Use(func(next steadfast.Handler) steadfast.Handler {
		return func(ctx context.Context, job *api.Job) (any, error) {
			fmt.Println("before", job.Kind)
			result, err := next(ctx, job)
			fmt.Println("after", job.Kind)
			return result, err
		}
	})
	steadfast.Handle(handlers, func(ctx context.Context, job *steadfast.Job[Invoice]) error { return nil })

	runner := steadfasttest.NewRunner(handlers)
	runner.Enqueue(Invoice{Order: 7})
	runner.Run(context.Background())
	// Output:
	// before invoice
	// after invoice
}

func ExampleNewWebhookHandler() {
	handler, err := steadfast.NewWebhookHandler(func(ctx context.Context, event steadfast.Event) error {
		job, err := event.Job()
		if err != nil {
			return err
		}
		fmt.Println(event.Type, job.ID)
		return nil
	}, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		panic(err)
	}
	http.Handle("POST /webhooks", handler)
}
