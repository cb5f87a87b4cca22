package benchtest

import _ "embed" // for Blocking

// Blocking is a program that plays by blocking writes, as many do.
//
//go:embed blocking/blocking.c
var Blocking []byte
