package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/device/config"
	"conch/mqtt/mqtttest"
)

// mark is in every secret of these tests, behind a prefix and before a number that says where it was put.
const mark = "Zq9hiddenMark"

// markForms are the ways in which it may come out.
var markForms = sync.OnceValue(func() *regexp.Regexp {
	all := []string{mark, hex.EncodeToString([]byte(mark))}
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + mark))
		all = append(all, text[(before*8+5)/6:(before+len(mark))*8/6])
	}
	return regexp.MustCompile("(?i)(?:" + strings.Join(all, "|") + ")[0-9A-Za-z]*")
})

// leaks reports each line of an output that has a mark.
func leaks(t *testing.T, where, output string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(output) {
		if at := markForms().FindStringIndex(line); at != nil {
			if n++; n <= 5 {
				t.Errorf("%s: …%s", where, strings.TrimSpace(line[max(0, at[0]-100):min(len(line), at[1]+60)]))
			}
		}
	}
	if n > 5 {
		t.Errorf("%s: and %d more lines", where, n-5)
	}
}

// marked are the forms in which a value may hold a secret.
var marked = []func(secret string) string{
	func(s string) string { return "mqtt://u:" + s + "@127.0.0.1:1" },
	func(s string) string { return "https://" + s + "@127.0.0.1:1/p" },
	func(s string) string { return "https://127.0.0.1:1/p?token=" + s + "&x=" + s },
	func(s string) string { return "http://127.0.0.1:1/p#" + s },
	func(s string) string { return "wss://127.0.0.1:1/p?" + s },
	func(s string) string { return "mqtt:/u:" + s + "@127.0.0.1:1" },
	func(s string) string { return "mqtt://u:pa ss/" + s + "?#@127.0.0.1:1" },
	func(s string) string { return "u:" + s + "@127.0.0.1:1" },
	func(s string) string { return "rtsp://u:12%2F" + s + "%40@127.0.0.1:99999" },
	func(s string) string { return "sk-" + s },
	func(s string) string { return "Bearer " + s },
	func(s string) string { return "Jazz = https://u:" + s + "@127.0.0.1:1/a?key=" + s },
}

// TestNoKeyOfTheConfigurationComesOut: a secret in any value of any key, good or refused, in file, environment and flag.
func TestNoKeyOfTheConfigurationComesOut(t *testing.T) {
	t.Parallel()
	fallback := config.Default()
	var keys []string
	for _, r := range fallback.Describe() {
		if strings.Contains(r.Key, ".") && r.Key != "voice.key" {
			keys = append(keys, r.Key)
		}
	}
	if len(keys) < 80 {
		t.Fatalf("only %d keys; this test would prove nothing", len(keys))
	}
	for i, form := range marked {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + dir}
			conch := func(where string, env []string, args ...string) {
				cmd := exec.CommandContext(t.Context(), "conch", args...)
				cmd.Env = env
				out, _ := cmd.CombinedOutput() // that it refuses is expected
				if len(out) < 20 {
					t.Errorf("%s: %q; this test would prove nothing", where, out)
				}
				leaks(t, where, string(out))
			}
			var good, bad, lists []string
			variables := slices.Clone(env)
			flags := []string{"check"}
			for n, key := range keys {
				value := form(mark + strconv.Itoa(n))
				section, name, _ := strings.Cut(key, ".")
				line := fmt.Sprintf("%s.%s = %s\n", section, name, config.Quote(value))
				one := config.LoadOptions{File: filepath.Join(dir, "none.toml"), New: true, Flags: map[string]string{key: value}, Environ: env, Keyless: true}
				if _, err := config.Load(one); err == nil && key != "voice.kind" {
					good = append(good, line)
				}
				bad = append(bad, line)
				value = marked[(i+n)%len(marked)](mark + strconv.Itoa(n)) // here all forms are in one run
				lists = append(lists, fmt.Sprintf("%s.%s = [7, %s]\n", section, name, config.Quote(value)))
				variables = append(variables, "CONCH_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))+"="+value)
				flags = append(flags, "--set", key+"="+value)
			}
			q := config.Quote(form(mark + "900"))
			more := "room.pasword = " + q + "\nvoice.api_key = \"" + mark + "901\"\nnowhere.token = " + q + "\n" +
				"[mcp.one]\ncommand = [\"nowhere\", \"--token=" + mark + "902\", \"--api-key\", \"" + mark + "903\", \"-p" + mark +
				"904\", \"" + mark + "905\", " + q + "]\n" +
				"env = { T = \"" + mark + "906\" }\nenv_files = { F = \"" + mark + "907\" }\n" +
				"[mcp.two]\nurl = " + q + "\nheader_files = { Authorization = \"Bearer " + mark + "908\" }\n" +
				"[mcp.three]\nurl = \"https://127.0.0.1:1/mcp?key=" + mark + "909\"\n[mcp.four]\ncommand = " + q + "\nenv = { X = [" + q + "] }\n" +
				"[home.lamp]\ntopic = " + q + "\npayloads = { on = " + q + " }\n"
			for name, text := range map[string]string{"good": strings.Join(good, ""), "bad": strings.Join(bad, "") + more, "lists": strings.Join(lists, ""),
				"cut": strings.Join(bad, "") + more + "x = " + form(mark+"910") + "\n"} {
				if i%4 > 0 && (name == "lists" || name == "cut") {
					continue
				}
				file := filepath.Join(dir, name+".toml")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				conch(name+", check", env, "--config", file, "check")
				if name == "good" {
					conch(name+", check --json", env, "--config", file, "check", "--json")
				}
				if name == "bad" && i%6 == 0 {
					conch(name+", report", env, "--config", file, "report", "--out", "-")
				}
			}
			if i%4 == 0 {
				conch("environment, check", variables, "check")
				conch("flags", env, flags...)
			}
			conch("a word too many", env, "status", form(mark+"911"))
			conch("a flag that is none", env, "status", "--token="+mark+"912")
		})
	}
}

// page is what a browser is sent: the page and the beginning of its events.
func page(t *testing.T, base string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReaderSize(resp.Body, 1<<20)
	text := ""
	for !strings.Contains(text, "data: ") {
		line, err := in.ReadString('\n')
		if text += line; err != nil {
			t.Fatalf("%v: %q", err, text)
		}
	}
	return text
}

// TestNoSecretComesOutOfTheAppliance: it runs with a secret in each place where it works with one, and with refused ones, and shows none.
func TestNoSecretComesOutOfTheAppliance(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a server that tells what it was sent
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16))
		http.Error(w, fmt.Sprintf("%s %v %s", r.URL, r.Header, body), http.StatusUnauthorized)
	}))
	defer echo.Close()
	broker := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"ha": mark + "1"}})
	dir := t.TempDir()
	host := strings.TrimPrefix(echo.URL, "http://")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	port, err := mqtttest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	write("conch/conch.toml", `
voice.kind = "realtime"
voice.url = "ws://`+host+`/v1?token=`+mark+`2"
voice.key_file = "`+write("key", mark+"3\n")+`"
room.broker = "mqtt://u:`+mark+`4@127.0.0.1:1"
room.vote_url = "https://u:`+mark+`5@127.0.0.1:1"
log.level = "debug"
web.listen = "127.0.0.1:`+port+`"
homeassistant.discovery = true
homeassistant.broker = "mqtt://`+broker.Addr()+`"
homeassistant.user = "ha"
homeassistant.password_file = "`+write("password", mark+"1\n")+`"
room.pasword = "`+mark+`6"
[radio.stations]
Jazz = "http://u:`+mark+`7@`+host+`/a.m3u?token=`+mark+`8"
[mcp.child]
command = ["sh", "-c", "printf 'Error: %s %s\n' \"$T\" \"$*\" >&2; printf %s \"$T\" | base64 >&2; exit 1", "x", "--api-key", "`+mark+`9", "--token=`+mark+`10",
  "https://u:`+mark+`11@127.0.0.1/?t=`+mark+`12"]
env = { T = "`+mark+`13" }
[mcp.far]
url = "http://`+host+`/mcp?key=`+mark+`14"
header_files = { Authorization = "`+write("header", "Bearer "+mark+"15\n")+`" }
[mcp.gone]
command = ["nowhere", "--password", "`+mark+`16"]
`)
	m := prepare(t, dir, 30*time.Second, "https_proxy=http://u:"+mark+"17@127.0.0.1:1", "no_proxy=127.0.0.1", "GOTRACEBACK=all")
	if err := os.WriteFile(filepath.Join(dir, "subscribe"), []byte("-P\n"+mark+"1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	topics := subscribed(t, broker.Addr(), "ha", mark+"1")
	m.start()
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	m.until("its tools are tried", func() bool {
		return strings.Contains(m.logged(), "mcp.gone") || strings.Contains(m.logged(), "nowhere")
	})
	m.until("Home Assistant knows of it", func() bool { return strings.Contains(topics(), "conch-ha/") && strings.Contains(topics(), "/state ") })
	_, _ = m.try("ask", "what is one plus one") // the voice refuses
	m.until("the child has complained", func() bool { return strings.Contains(m.logged(), "Error: ") })
	status, err := json.Marshal(m.status())
	if err != nil {
		t.Fatal(err)
	}
	leaks(t, "GET /status", string(status))
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"logs"}, {"why", "--all"}, {"doctor", "--verbose"},
		{"doctor", "--json"}, {"report", "--out", "-"},
		{"check"}, {"usage"}, {"web", "sessions"}} {
		out, _ := m.try(args...)
		leaks(t, "conch "+strings.Join(args, " "), out)
	}
	if out, _ := m.try("status", "--json"); !strings.Contains(out, "127.0.0.1:1") {
		t.Errorf("the refused broker's host and port are not there to mend it by:\n%s", out)
	}
	leaks(t, "page", page(t, "http://127.0.0.1:"+port+"/"))
	m.signal(syscall.SIGQUIT)
	_ = m.program.Wait() // with an error, as it should
	if log := m.logged(); !strings.Contains(log, "goroutine ") {
		t.Error("it has not dumped its goroutines")
	}
	m.until("the will", func() bool { return strings.Contains(topics(), "/avail offline") })
	leaks(t, "log and dump", m.logged())
	leaks(t, "what the service manager was told", strings.Join(m.heard(), "\n"))
	leaks(t, "Home Assistant's broker", topics())
	later := subscribed(t, broker.Addr(), "ha", mark+"1")
	m.until("what is retained", func() bool { return strings.Contains(later(), "/avail offline") })
	leaks(t, "retained at Home Assistant's broker", later())
	leaks(t, "the page of the image", boxStatus(t, dir, m.env))
}

// subscribed is mosquitto_sub; it returns what it has seen so far.
func subscribed(t *testing.T, addr, user, password string) func() string {
	t.Helper()
	tool, err := mqtttest.Find("mosquitto_sub")
	if err != nil {
		t.Skipf("%v; on Debian: apt-get install mosquitto-clients", err)
	}
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.CommandContext(t.Context(), tool, "-h", host, "-p", port, "-u", user, "-P", password, "-t", "#", "-F", "%t %p")
	var seen managerLog
	cmd.Stdout = &seen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return (*manager)(&seen).logged
}

// boxStatus is what the image's boot script says of a configuration on its card.
func boxStatus(t *testing.T, dir string, env []string) string {
	t.Helper()
	at := filepath.Join(dir, "image")
	if err := os.MkdirAll(filepath.Join(at, "boot/firmware"), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "conch/conch.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "boot/firmware/conch.toml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../systemd/image/files/usr/local/lib/conch/boot")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", script, "take")
	cmd.Env = append(slices.Clone(env), "CONCH_BOOT_AT="+at)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "conch.toml: taken") {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
