module burner

go 1.15
