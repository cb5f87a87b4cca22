package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"conch/mqtt/mqtttest"
)

// house BROKER DEVICE=COMPANION...: a configuration for each device of a room, DEVICE.toml, all of which know each other.
// BROKER is embedded (the first device carries it) or foreign: then the story starts $MOSQUITTO with broker.conf. $PORT is the
// broker's; $ID_DEVICE are the devices' ids, and their state lies in the directory DEVICE.
func house(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[0] != "embedded" && args[0] != "foreign" {
		ts.Fatalf("usage: house embedded|foreign DEVICE=COMPANION...")
	}
	port := freePort(ts)
	ts.Setenv("PORT", port)
	if args[0] == "foreign" {
		path, err := mqtttest.Find("mosquitto")
		if err != nil {
			ts.Fatalf("%v", err)
		}
		ts.Setenv("MOSQUITTO", path)
		conf := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous true\npersistence false\n", port)
		ts.Check(os.WriteFile(ts.MkAbs("broker.conf"), []byte(conf), 0o600))
	}
	type device struct{ name, settings string }
	var devices []device
	var ids []string
	for i, a := range args[1:] {
		name, companion, _ := strings.Cut(a, "=")
		dir := ts.MkAbs(name)
		ts.Check(os.Mkdir(dir, 0o700))
		broker := fmt.Sprintf("broker = %q", "mqtt://127.0.0.1:"+port)
		if i == 0 && args[0] == "embedded" {
			broker = fmt.Sprintf("broker = \"embedded\"\nlisten = %q", "127.0.0.1:"+port)
		}
		settings := fmt.Sprintf("[device]\nname = %q\ncompanion = %q\n[button]\nsource = \"none\"\n[voice]\nkind = \"rehearsal\"\n[state]\ndir = %q\nruntime = %q\n[room]\n%s\n",
			name, companion, filepath.Join(dir, "state"), dir, broker)
		file := ts.MkAbs(name + ".toml")
		ts.Check(os.WriteFile(file, []byte(settings), 0o600))
		ts.Check(ts.Exec("conch", "room", "id", "--config", file))
		id := strings.TrimSpace(ts.ReadFile("stdout"))
		ts.Setenv("ID_"+name, id)
		ids = append(ids, id)
		devices = append(devices, device{file, settings})
	}
	for _, d := range devices {
		text := d.settings + fmt.Sprintf("members = %q\n", strings.Join(ids, ", "))
		ts.Check(os.WriteFile(d.name, []byte(text), 0o600))
	}
}

func freePort(ts *testscript.TestScript) string {
	port, err := mqtttest.FreePort("127.0.0.1")
	ts.Check(err)
	return port
}

// eventually REGEXP COMMAND...: the command is run again and again until its standard output has it, whatever its status.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND...")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	out := ""
	if !soon(func() bool {
		var exit *exec.ExitError
		if err := ts.Exec(args[1], args[2:]...); err != nil && !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		out = ts.ReadFile("stdout")
		return re.MatchString(out)
	}) {
		ts.Fatalf("%s never said %q; the last time:\n%s", strings.Join(args[1:], " "), args[0], out)
	}
}

// samples SOCKET FILE: the metrics of the appliance go into the file, and are the text format of Prometheus: each sample
// belongs to a family whose HELP and TYPE came once, before it, and counters end in _total.
func samples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: samples SOCKET FILE")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", ts.MkAbs(args[0]))
	}}}
	resp, err := client.Get("http://conch/metrics")
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
	help, kind := map[string]bool{}, map[string]string{}
	sample := regexp.MustCompile(`^([a-z_]+)(\{[a-z_]+="[^"\\\n]*"\})? [0-9.e+]+$`)
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, _, _ := strings.Cut(rest, " ")
			if help[name] {
				ts.Fatalf("HELP of %s twice", name)
			}
			help[name] = true
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, k, _ := strings.Cut(rest, " ")
			if k != "gauge" && k != "counter" || kind[name] != "" || (k == "counter") != strings.HasSuffix(name, "_total") {
				ts.Fatalf("%q", line)
			}
			kind[name] = k
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || !help[m[1]] || kind[m[1]] == "" {
			ts.Fatalf("no sample of a family that was announced: %q", line)
		}
		n++
	}
	if n == 0 {
		ts.Fatalf("no sample at all")
	}
}
