// Package api has the types of the server's API, and one method of [Client] for each of its calls.
//
// Both are generated from the OpenAPI document of the server. Optional texts, times and lists are
// empty where there is none; optional numbers, flags and objects are pointers ([Ptr] makes one).
package api

//go:generate go run ../internal/generate ../../../docs/openapi.json .
