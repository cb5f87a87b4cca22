package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Public servers of the Model Context Protocol, as npm has them, are used in a conversation through the program.
func TestPublicServersAreUsedInAConversation(t *testing.T) {
	t.Parallel()
	const modules = "../../device/mcp/npmtest"
	out, err := exec.CommandContext(t.Context(), modules+"/install.sh").CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	servers, err := filepath.Abs(modules + "/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	p := stories("testdata/mcp")
	begin := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("SERVERS", servers)
		return begin(e)
	}
	testscript.Run(t, p)
}
