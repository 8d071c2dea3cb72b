module github.com/crdeval/crdeval/tools/vale

go 1.26.8
