module short

go 1.15
