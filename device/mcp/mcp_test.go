package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"conch/companions/skills"
	"conch/device/config"
	"conch/device/mcp/mcptest"
)

// The servers of these tests are processes of their own: this program again, which does what serves says.
const serves = "CONCH_TEST_SERVES"

func TestMain(m *testing.M) {
	switch what := os.Getenv(serves); what {
	case "":
	case "a conch":
		keepOne()
		return
	case "a unit":
		_ = Serve(context.Background(), os.Stdin)
		return
	default:
		mcptest.Serve(what)
		return
	}
	goleak.VerifyTestMain(m)
}

// quick is how long things may take in these tests; processes start in real time.
var quick = times{
	start: 20 * time.Second, list: 2 * time.Second, lives: 2 * time.Second, anew: 20 * time.Second, between: time.Millisecond, retryMin: 10 * time.Millisecond, retryMax: 50 * time.Millisecond,
	steady: time.Hour,
}

// rig is a set of servers and what they have offered last.
type rig struct {
	*testing.T
	servers *Servers
	log     syncBuffer
	changes chan struct{}
	stop    func()

	mu    sync.Mutex
	tools map[string]skills.Tool
	lost  map[string]int
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// own is a server of ours that does what.
func own(name, what string) config.MCP {
	return config.MCP{Name: name, Command: []string{os.Args[0]}, Env: map[string]string{serves: what}}
}

func newRig(t *testing.T, all ...config.MCP) *rig { return newRigIn(t, quick, all...) }

func newRigIn(t *testing.T, within times, all ...config.MCP) *rig {
	t.Helper()
	r := &rig{T: t, changes: make(chan struct{}, 1), tools: map[string]skills.Tool{}, lost: map[string]int{}}
	r.servers = newServers(Options{Servers: all, Log: slog.New(slog.NewTextHandler(&r.log, nil)), Tools: func(server string, tools []skills.Tool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for name := range r.tools {
			if strings.HasPrefix(name, server+"_") {
				delete(r.tools, name)
			}
		}
		for _, x := range tools {
			r.tools[x.Name] = x
		}
		if len(tools) == 0 {
			r.lost[server]++
		}
		poke(r.changes)
	}}, within)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.servers.Run(ctx) }()
	r.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(r.stop)
	return r
}

func (r *rig) tool(name string) (skills.Tool, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.tools[name]
	return t, ok
}

func (r *rig) losses(server string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost[server]
}

// until waits for what the servers bring about.
func (r *rig) until(what string, holds func() bool) {
	r.Helper()
	late := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-r.changes:
		case <-late:
			r.Fatalf("never: %s\n%v\n%s", what, r.servers.States(), r.log.String())
		}
	}
}

func (r *rig) there(name string) {
	r.Helper()
	r.until(name+" is there", func() bool { _, ok := r.tool(name); return ok })
}

// call calls a tool as the toolbox does.
func (r *rig) call(name, args string, within time.Duration) (skills.Result, error) {
	r.Helper()
	t, ok := r.tool(name)
	if !ok {
		r.Fatalf("there is no %s", name)
	}
	ctx, over := context.WithTimeout(r.Context(), within)
	defer over()
	return t.Handler(skills.Context{Context: ctx, Log: slog.New(slog.DiscardHandler), Now: time.Now}, json.RawMessage(args))
}

// says expects a part of an output.
func (r *rig) says(name, args, want string) {
	r.Helper()
	if got, err := r.call(name, args, 10*time.Second); err != nil || !strings.Contains(got.Output, want) {
		r.Errorf("%s(%s) = %.300q, %v; want %q", name, args, got.Output, err, want)
	}
}

// refuses expects a part of an error.
func (r *rig) refuses(name string, within time.Duration, want string) {
	r.Helper()
	if got, err := r.call(name, "{}", within); err == nil || !strings.Contains(err.Error(), want) {
		r.Errorf("%s = %.300q, %v; want an error with %q", name, got.Output, err, want)
	}
}

func TestToolsOfAServerAreCalled(t *testing.T) {
	r := newRig(t, own("one", "well"), own("two", "noise"))
	r.there("one_echo")
	r.there("two_echo") // whatever it prints where messages belong
	r.says("one_echo", `{"text":"hello"}`, "Echo: hello")
	for range 3 {
		r.says("two_prints", "{}", "printed")
	}
	r.says("two_echo", `{"text":"there"}`, "Echo: there")
	for _, st := range r.servers.States() {
		if st.Is != Ready || !slices.Contains(st.Tools, st.Name+"_echo") || st.LatencyMS <= 0 || st.Where != os.Args[0] {
			t.Errorf("%+v; want it ready", st)
		}
	}
}

func TestAnErrorIsToldInTheWordsOfTheServer(t *testing.T) {
	r := newRig(t, own("one", "well"))
	r.there("one_fails")
	r.refuses("one_fails", 10*time.Second, "one says: the oven is cold")
	r.refuses("one_echo", 10*time.Second, "text") // arguments that it refuses itself
	r.says("one_echo", `{"text":"and on"}`, "and on")
}

func TestAServerHasNoKeyOfOurs(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret-of-conch")
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials/conch.service")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of-the-server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := own("one", "well")
	s.EnvFiles = map[string]string{"TOKEN": token}
	r := newRig(t, s)
	r.there("one_environment")
	got, err := r.call("one_environment", "{}", 10*time.Second)
	for _, leak := range []string{"sk-secret", "OPENAI", "CREDENTIALS", "CONCH_" + "VOICE"} {
		if strings.Contains(got.Output, leak) {
			t.Errorf("its environment has %s", leak)
		}
	}
	if err != nil || !strings.Contains(got.Output, "TOKEN=of-the-server") || !strings.Contains(got.Output, "PATH=") {
		t.Errorf("%q, %v", got.Output, err)
	}
}

func TestAServerThatHangsAtItsStartCostsNothing(t *testing.T) {
	within := quick
	within.start = 300 * time.Millisecond
	r := newRigIn(t, within, own("mute", "nothing"))
	r.until("given up", func() bool { return r.losses("mute") >= 2 })
	if st := r.servers.States()[0]; !strings.Contains(st.Trouble, "did not answer within 0.3 s") || st.Lost == 0 {
		t.Errorf("%+v", st)
	}
}

func TestAServerThatHangsCostsThatCall(t *testing.T) {
	s := own("one", "well")
	s.Deadline = time.Second
	r := newRig(t, s)
	r.there("one_hangs")
	r.refuses("one_hangs", 10*time.Second, "did not answer within 1s")
	r.says("one_echo", `{"text":"alive"}`, "alive")
	if n := r.losses("one"); n != 0 {
		t.Errorf("it was started %d times anew, though it lives", n)
	}
	r.refuses("one_hangs", 100*time.Millisecond, "deadline") // the device's own, if that is shorter
}

func TestAServerThatFreezesIsStartedAnew(t *testing.T) {
	r := newRig(t, own("one", "well"))
	r.there("one_freezes")
	r.refuses("one_freezes", 300*time.Millisecond, "deadline")
	r.until("lost", func() bool { return r.servers.States()[0].Lost == 1 })
	r.says("one_echo", `{"text":"alive"}`, "alive")
	if n := r.losses("one"); n != 0 {
		t.Errorf("its tools were withdrawn %d times, though it was started at once", n)
	}
}

// A server that does one thing after another hangs with one call: that call is lost, and the next speaks to the server started anew.
func TestAServerThatAnswersInOrderLosesOneCall(t *testing.T) {
	s := own("one", "in order")
	s.Deadline = time.Second
	r := newRig(t, s)
	r.there("one_hangs")
	r.refuses("one_hangs", 10*time.Second, "did not answer within 1s")
	r.says("one_echo", `{"text":"alive"}`, "alive")
	r.says("one_reads", `{}`, "read")
	if st := r.servers.States()[0]; st.Lost != 1 || st.Is != Ready {
		t.Errorf("%+v; want it started anew, once", st)
	}
}

// What waits behind a call that hangs is asked again where it may be done twice, and else refused in words.
func TestWhatWaitsBehindACallThatHangs(t *testing.T) {
	r := newRig(t, own("one", "in order"))
	r.there("one_hangs")
	arrived := func(n int) {
		t.Helper()
		for late := time.After(20 * time.Second); strings.Count(r.log.String(), "arrived: tools/call") < n; runtime.Gosched() {
			select {
			case <-late:
				t.Fatalf("never: %d calls have arrived\n%s", n, r.log.String())
			default:
			}
		}
	}
	hangs, _ := r.tool("one_hangs")
	ctx, callOff := context.WithCancel(t.Context())
	var all, first sync.WaitGroup
	first.Go(func() {
		_, _ = hangs.Handler(skills.Context{Context: ctx, Log: slog.New(slog.DiscardHandler), Now: time.Now}, json.RawMessage("{}"))
	})
	arrived(1)
	all.Go(func() { r.says("one_reads", "{}", "read") })
	all.Go(func() {
		if got, err := r.call("one_echo", `{"text":"twice"}`, 10*time.Second); err == nil || !strings.Contains(err.Error(), "not known whether it did this") {
			t.Errorf("%q, %v; want it refused", got.Output, err)
		}
	})
	arrived(3)
	callOff() // as a press that ends the turn does
	first.Wait()
	all.Go(func() { r.says("one_echo", `{"text":"alive"}`, "alive") })
	all.Wait()
	if n := r.servers.States()[0].Lost; n != 1 {
		t.Errorf("it was started %d times anew; want once", n)
	}
}

func TestAServerThatDiesInTheMiddleOfACallIsStartedAnew(t *testing.T) {
	r := newRig(t, own("one", "well"), own("two", "well"))
	r.there("one_dies")
	r.there("two_echo")
	r.refuses("one_dies", 10*time.Second, "was lost before it had answered")
	r.says("two_echo", `{"text":"beside"}`, "beside")
	r.until("lost", func() bool { return r.losses("one") == 1 })
	r.there("one_echo")
	r.says("one_echo", `{"text":"again"}`, "again")
}

// However often it is started, no more of a minute is logged; what was left out is counted once that is over.
func TestLinesAMinute(t *testing.T) {
	var a allowance
	now, logged := time.Unix(1e9, 0), 0
	for range 3 * stderrLines {
		if ok, _ := a.take(now); ok {
			logged++
		}
		now = now.Add(time.Second / 2)
	}
	if logged != stderrLines {
		t.Errorf("%d in half a minute", logged)
	}
	if ok, missed := a.take(now.Add(time.Minute)); !ok || missed != 2*stderrLines {
		t.Errorf("a minute later %t, %d were left out", ok, missed)
	}
}

func TestAServerThatFloodsIsHeardInPart(t *testing.T) {
	r := newRig(t, own("one", "well"), own("endless", "noise without end"))
	r.there("one_floods")
	r.says("one_floods", "{}", "flooded")
	if log := r.log.String(); strings.Count(log, logStderr) > stderrLines || !strings.Contains(log, "a flood without") || len(log) > 64<<10 {
		t.Errorf("%d bytes of log, %d lines of its standard error", len(log), strings.Count(log, logStderr))
	}
}

func TestTenMegabytesTakeNoMemory(t *testing.T) {
	r := newRig(t, own("one", "well"))
	r.there("one_sends")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := r.call("one_sends", "{}", 20*time.Second)
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Output) < 16<<10 || len(got.Output) > 18<<10 || strings.ToValidUTF8(got.Output, "") != got.Output {
		t.Errorf("%d bytes, %v; want a beginning", len(got.Output), err)
	}
	if all := after.TotalAlloc - before.TotalAlloc; all > 4<<20 {
		t.Errorf("%d kB were taken for it", all>>10)
	}
	r.says("one_echo", `{"text":"alive"}`, "alive")
	// What cannot be shortened ends the connection.
	r.refuses("one_sends_numbers", 20*time.Second, "was lost before")
	r.until("lost", func() bool { return r.losses("one") == 1 })
	r.there("one_echo")
}

func TestAServerThatChangesItsTools(t *testing.T) {
	r := newRig(t, own("one", "well"))
	r.there("one_changes")
	r.says("one_changes", "{}", "changed")
	r.there("one_new_one")
	r.until("fails is gone", func() bool { _, there := r.tool("one_fails"); return !there })
	r.says("one_new_one", "{}", "new")
}

func TestWhatIsNoTextIsToldAsWhatItIs(t *testing.T) {
	r := newRig(t, own("one", "well"))
	r.there("one_shows")
	got, err := r.call("one_shows", "{}", 10*time.Second)
	const want = "Look:\n[A picture (image/png), which cannot be told in words here.]\n[A sound (audio/wav), which cannot be played here.]\n" +
		"[A link: plan, file:///plan]\ninside\n[A file (application/zip): x:2]"
	if err != nil || got.Output != want {
		t.Errorf("%v\n got %q\nwant %q", err, got.Output, want)
	}
}

func TestAServerMayAskForNothing(t *testing.T) {
	r := newRig(t, own("one", "well"))
	r.there("one_asks")
	r.says("one_asks", "{}", "model refused: true; person refused: true; 0 roots")
}

func TestNamesAreFitForAModel(t *testing.T) {
	r := newRig(t, own("one", "odd"))
	r.there("one_echo")
	long := map[string]bool{}
	r.mu.Lock()
	for name := range r.tools {
		if len(name) > 64 || unfit().MatchString(name) {
			t.Errorf("%q is no name of a tool", name)
		}
		if len(name) == 64 {
			long[name] = true
		}
	}
	r.mu.Unlock()
	if len(long) != 2 {
		t.Errorf("%v; want two that are told apart", long)
	}
	for name := range long {
		if got, err := r.call(name, "{}", 10*time.Second); err != nil || got.Output != "one" && got.Output != "two" {
			t.Errorf("%s = %q, %v", name, got.Output, err)
		}
	}
	if _, there := r.tool("one_no_schema"); !there {
		t.Error("a tool whose schema is none is for the toolbox to refuse")
	}
}

func TestOnlyAllowedToolsAreThere(t *testing.T) {
	s := own("one", "well")
	s.Allow = []string{"echo", "ecco"}
	r := newRig(t, s)
	r.there("one_echo")
	if st := r.servers.States()[0]; !slices.Equal(st.Tools, []string{"one_echo"}) {
		t.Errorf("%v", st.Tools)
	}
	if log := r.log.String(); !strings.Contains(log, "tool=ecco") {
		t.Errorf("nobody says that there is no ecco:\n%s", log)
	}
}

func TestAServerEndsWithConchAndAllItStarted(t *testing.T) {
	r := newRig(t, own("one", "leaves a child"))
	r.there("one_spawns")
	got, err := r.call("one_spawns", "{}", 10*time.Second)
	child, _ := strconv.Atoi(got.Output)
	if err != nil || child == 0 || syscall.Kill(child, 0) != nil {
		t.Fatalf("%q, %v", got.Output, err)
	}
	fd, err := unix.PidfdOpen(child, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r.stop()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000); n != 1 {
		t.Errorf("what the server started lives on (%v)", err)
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

func TestACommandThatIsNotThere(t *testing.T) {
	r := newRig(t, config.MCP{Name: "one", Command: []string{"no-such-program-here"}})
	r.until("lost", func() bool { return r.losses("one") > 0 })
	if st := r.servers.States()[0]; !strings.Contains(st.Trouble, "no-such-program-here: no such program on PATH") {
		t.Errorf("%+v", st)
	}
}

// A server by streamable HTTP, which lets in who shows a token.
func TestAServerByHTTP(t *testing.T) {
	s := mcptest.New("well")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var elsewhere syncBuffer
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { fmt.Fprintln(&elsewhere, r.Header) }))
	defer thief.Close()
	var sendOn sync.Once
	moved := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer let me in" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		select {
		case <-moved:
			sendOn.Do(func() { http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect) })
			return
		default:
		}
		handler.ServeHTTP(w, r)
	}))
	defer srv.Close()
	defer srv.CloseClientConnections()
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(token, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Bearer of nothing")
	r := newRig(t, config.MCP{Name: "web", URL: srv.URL, HeaderFiles: map[string]string{"Authorization": token}})
	r.until("refused", func() bool { return r.losses("web") > 0 })
	if st := r.servers.States()[0]; st.Is == Ready || !strings.Contains(strings.ToLower(st.Trouble), "unauthorized") {
		t.Errorf("%+v; want it refused", st)
	}
	write("Bearer let me in") // a token that is mended needs no restart
	r.there("web_echo")
	r.says("web_echo", `{"text":"over the wire"}`, "Echo: over the wire")
	got, err := r.call("web_sends", "{}", 20*time.Second)
	if err != nil || len(got.Output) < 16<<10 || len(got.Output) > 18<<10 {
		t.Errorf("%d bytes of ten million, %v", len(got.Output), err)
	}
	r.says("web_changes", "{}", "changed")
	r.there("web_new_one")
	close(moved)
	if got, err := r.call("web_echo", `{"text":"x"}`, 10*time.Second); err == nil {
		t.Errorf("%q of a server that sends on to another", got.Output)
	}
	if text := elsewhere.String(); strings.Contains(text, "let me in") {
		t.Errorf("the token was shown to another server: %s", text)
	}
	r.stop()
	for session := range s.Sessions() { // it was not told of the end, but sent on
		_ = session.Close()
	}
}
