// Package steadfast defines, enqueues and runs jobs of a Steadfast server.
//
// A job is a struct with a Kind. The same type enqueues it ([Client.Enqueue]) and is given to its
// handler ([Handle]); a [Worker] runs the handlers.
//
// # Layout
//
//   - client.go, enqueue.go, options.go: creating jobs; every other call of the API is a method of
//     [Client] too
//   - handlers.go, job.go, errors.go: handlers, and the outcomes that they can choose
//   - worker.go: the parts of a worker and how it stops, then one file for each part:
//     claimer.go, heartbeat.go, settler.go; held.go is what they share
//   - webhook.go: an [net/http.Handler] that receives webhooks
//   - api: the types and calls of the API, generated
//   - steadfasttest: handlers in tests, without a server and with one
package steadfast

// Version of this library.
const Version = "0.1.0"

const library = "steadfast-go/" + Version
