module steadfast/conformance

go 1.24
