module github.com/crdeval/crdeval/tools/peers

go 1.26.8
