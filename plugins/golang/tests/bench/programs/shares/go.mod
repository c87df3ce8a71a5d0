module shares

go 1.18
