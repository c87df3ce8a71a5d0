module calls

go 1.21
