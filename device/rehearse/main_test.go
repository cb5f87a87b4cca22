package rehearse

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that are left when all tests are over.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
