module example.com/truth

go 1.18
