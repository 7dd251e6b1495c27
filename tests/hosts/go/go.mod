module hold

go 1.19
