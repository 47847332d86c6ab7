module steadfast.example/steadfast

go 1.24
