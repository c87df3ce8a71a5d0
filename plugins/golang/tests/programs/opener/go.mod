module opener

go 1.15
