package mcp

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"conch/device/config"
)

// Whatever keeps a server from ever being there is said in words once its time is over, and stays said while it is tried again.
func TestWhyAServerNeverStartsIsSaidInWords(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }))
	defer page.Close()
	nobody := httptest.NewServer(http.NotFoundHandler())
	defer nobody.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	sh := func(script string) config.MCP { return config.MCP{Command: []string{"sh", "-c", script}} }
	answers := func(with string) config.MCP { // to whatever comes, and ends with its standard input
		return sh(`n=0; while read -r q; do n=$((n+1)); echo '{"jsonrpc":"2.0",` + with + `,"id":'$n'}'; done`)
	}
	rows := map[string]struct {
		config.MCP
		want string
	}{
		"hangs":      {config.MCP{Command: []string{"sleep", "1000"}}, "it did not answer within 1 s of its start"},
		"garbage":    {sh("echo Listening on port 80; exec sleep 1000"), "within 1 s of its start; it printed what is no message: Listening on port 80"},
		"endless":    {config.MCP{Command: []string{"yes"}}, "it prints without end; it printed what is no message: y"},
		"brackets":   {sh("echo '[INFO] ready'; exec sleep 1000"), "within 1 s of its start; it printed what is no message: [INFO] ready"},
		"records":    {sh(`echo '{"level":30,"msg":"ready"}'; exec sleep 1000`), `it printed what is no message: {"level":30,"msg":"ready"}`},
		"no end":     {sh("yes x | tr -d '\\n'"), "it prints without end; it printed what is no message: xxx"},
		"refuses":    {answers(`"error":{"code":-32000,"message":"no licence"}`), "it refuses to begin: no licence"},
		"misspeaks":  {answers(`"result":[]`), "it does not speak as a server of MCP does: "},
		"exits":      {sh("echo Error: Cannot find module >&2; echo at line 1 >&2; exit 3"), "it ended by itself: exit status 3; it said: Error: Cannot find module"},
		"forks":      {sh("sleep 1000 & exit 0"), "it ended by itself, without an error; what goes into the background cannot be spoken to"},
		"daemon":     {sh("setsid sleep 8 & exit 0"), "it ended by itself, without an error; what goes into the background"},
		"no program": {config.MCP{Command: []string{os.DevNull}}, "no such program on PATH"},
		"no format":  {config.MCP{Command: []string{notAProgram(t)}}, "cannot be started: exec format error"},
		"silent":     {config.MCP{URL: "http://" + silent.Addr().String()}, "it did not answer within 1 s of its start"},
		"page":       {config.MCP{URL: page.URL}, "it answers with text/html, as no server of MCP does"},
		"not found":  {config.MCP{URL: nobody.URL}, "it answers: 404 Not Found"},
		"closed":     {config.MCP{URL: closed.URL}, "nobody listens at its address"},
		"plain":      {config.MCP{URL: strings.Replace(page.URL, "http:", "https:", 1)}, "it does not speak TLS"},
	}
	within := quick
	within.start = time.Second
	var all []config.MCP
	for name, row := range rows {
		row.Name = name
		all = append(all, row.MCP)
	}
	began := time.Now()
	r := newRigIn(t, within, all...)
	for name, row := range rows {
		r.until(name+" was tried twice", func() bool { return r.losses(name) >= 2 })
		for _, st := range r.servers.States() {
			if st.Name != name {
				continue
			}
			if st.Is != Lost || !strings.Contains(st.Trouble, row.want) || strings.Contains(st.Trouble, "calling") || st.Lost == 0 || st.Since.Sub(began) > within.start {
				t.Errorf("%s: %+v;\nwant it lost since its start: %s", name, st, row.want)
			}
		}
	}
}

// notAProgram is a file that may be run, and cannot.
func notAProgram(t *testing.T) string {
	t.Helper()
	name := t.TempDir() + "/server"
	if err := os.WriteFile(name, []byte{0x7f, 'n', 'o'}, 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return name
}

// One whose start takes all its time is tried less and less often all the same.
func TestAServerThatNeverStartsIsTriedLessAndLess(t *testing.T) {
	within := quick
	within.start, within.steady = 50*time.Millisecond, 10*time.Millisecond
	r := newRigIn(t, within, config.MCP{Name: "one", Command: []string{"sleep", "1000"}})
	r.until("tried three times", func() bool { return r.losses("one") >= 3 })
	r.stop()
	if log := r.log.String(); !strings.Contains(log, "again_s=0.02") {
		t.Errorf("it is tried at the same pace for ever:\n%s", log)
	}
}

func TestOneThatChangesItsToolsWithoutEndIsAskedLessAndLess(t *testing.T) {
	p := pace{least: time.Second, most: time.Minute}
	now, asked := time.Unix(1e9, 0), 0
	for end := now.Add(time.Hour); now.Before(end); asked++ {
		now = now.Add(p.rest(now))
	}
	if asked > 70 {
		t.Errorf("asked %d times in an hour", asked)
	}
	for range 3 {
		now = now.Add(3 * time.Minute)
		if rest := p.rest(now); rest != p.least {
			t.Errorf("one that changed now and then: %s", rest)
		}
	}
}

// What the configuration says to a server alone is in no log and no report, whoever repeats it.
func TestWhatAServerIsToldAloneIsNotRepeated(t *testing.T) {
	r := newRig(t, config.MCP{Name: "one", Command: []string{"sh", "-c", "echo Error: bad token $TOKEN >&2; echo $TOKEN; exit 1"}, Env: map[string]string{"TOKEN": "hunter2-hunter2"}})
	r.until("lost", func() bool { return r.losses("one") >= 2 })
	r.stop()
	if st := r.servers.States()[0]; !strings.Contains(st.Trouble, "bad token [TOKEN]") {
		t.Errorf("%+v", st)
	}
	if log := r.log.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, "bad token [TOKEN]") {
		t.Errorf("%s", log)
	}
}

// One that floods with messages is read as quickly as a machine can bear, and one that says what it has to is not held up.
func TestMessagesASecond(t *testing.T) {
	var flood, usual talk
	now, read := time.Unix(1e9, 0), 0
	for end := now.Add(time.Minute); now.Before(end); read++ {
		now = now.Add(flood.take(now, 1) + time.Millisecond/10)
	}
	if most := 61 * (maxMessages + 1); read > most {
		t.Errorf("%d of a minute are read; want %d at most", read, most)
	}
	for range 1000 {
		if wait := usual.take(now, 10); wait > 0 {
			t.Fatalf("it is kept waiting for %s", wait)
		}
		now = now.Add(time.Second / 10)
	}
}
