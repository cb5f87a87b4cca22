package web

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(asStranger) != "" { // a process of another user: strangers_test.go
		os.Exit(stranger())
	}
	goleak.VerifyTestMain(m)
}
