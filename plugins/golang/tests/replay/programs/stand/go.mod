module stand

go 1.15
