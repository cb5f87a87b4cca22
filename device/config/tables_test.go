package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong in a table leaves that one out, and says which key, what is allowed, and where it stands.
func TestTablesAreRefusedOneByOne(t *testing.T) {
	const good = "[mcp.good]\ncommand = [\"true\"]\n[home.\"Good lamp\"]\nread = \"house/lamp\"\n"
	for in, want := range map[string]string{
		`mcp = 3`:                                                    `mcp = 3: must be sections, written [mcp.NAME], as in [mcp.files]; set by file`,
		"[mcp]\nx = 3":                                               `mcp.x = 3: must be a section, written [mcp.NAME]`,
		"[mcp.x]":                                                    `[mcp.x] needs a command or a url; it is left out`,
		"[mcp.x]\ncommand = \"npx a\"":                               `mcp.x.command = "npx a": must be a list of texts, as in ["npx", "-y", "PACKAGE@VERSION"]; [mcp.x] is left out; set by file`,
		"[mcp.x]\ncommand = []":                                      `mcp.x.command = []: must be a list`,
		"[mcp.x]\ncommand = [\"\"]":                                  `must be a list`,
		"[mcp.x]\ncomand = [\"a\"]":                                  `mcp.x.comand: unknown key (did you mean command?); [mcp.x] is left out`,
		"[mcp.x]\nurl = \"ftp://a\"":                                 `mcp.x.url = "ftp://a": must be http:// or https://`,
		"[mcp.x]\nurl = \"http://::1:18041/mcp\"":                    `mcp.x.url: an address of IPv6 stands in brackets`,
		"[mcp.x]\nurl = \"http://a:99999\"":                          `there is no port 99999`,
		"[mcp.x]\nurl = \"http://a:b@c\"":                            `a password does not belong into an address`,
		"[mcp.x]\nurl = \"http://a\"\ncommand = [\"a\"]":             `has a command and a url`,
		"[mcp.x]\nurl = \"http://a\"\nenv = { A = \"b\" }":           `has env, which goes with a command`,
		"[mcp.x]\ncommand = [\"a\"]\nheader_files = { A = \"b\" }":   `has header_files, which go with a url`,
		"[mcp.x]\ncommand = [\"a\"]\nenv = { \"A B\" = \"b\" }":      `"A B" is no name for it`,
		"[mcp.x]\ncommand = [\"a\"]\nenv = { A = 3 }":                `"A" must be a text`,
		"[mcp.x]\ncommand = [\"a\"]\ndeadline_s = 121":               `mcp.x.deadline_s = 121: must be 0 to 120`,
		"[mcp.\"a b\"]\ncommand = [\"a\"]":                           `[mcp.a b]: a name is 1 to 20 letters, digits, _ and -; it is left out`,
		"[home.lamp]":                                                `[home.lamp] needs a topic, or read, or both; it is left out`,
		"[home.lamp]\ntopic = \"a/#\"\npayloads = {on=\"1\"}":        `home.lamp.topic: topic "a/#": must be 1 to 1024 bytes long, without + and #`,
		"[home.lamp]\nread = \"conch/v1/home/messages/x\"":           `belongs to the broker or to conch's own rooms`,
		"[home.\"good LAMP\"]\nread = \"a\"":                         `[home.good LAMP] is called like [home."Good lamp"]: nobody hears capitals`,
		"[home.lamp]\ntopic = \"a\"\npayloads = {on=\"1\",On=\"2\"}": `has two payloads "on": nobody hears capitals`,
		"[home.lamp]\ntopic = \"a\"":                                 `nothing may be said to it`,
		"[home.lamp]\ntopic = \"a\"\nrange = [3, 3]":                 `home.lamp.range = [3, 3]: must be a list of two numbers`,
		"[home.lamp]\ntopic = \"a\"\npayloads = {on=true}":           `"on" must be a text`,
		"[home.lamp]\ntopic = \"a\"\nrange=[1,2]\nfield = \"b\"":     `has a field, and no read in which it is`,
		"[home.lamp]\nread = \"a\"\nfield = 3":                       `home.lamp.field = 3: must be one line of text`,
		"[home.\"a/b\"]\nread = \"a\"":                               `a name is 1 to 40 letters`,
		"[hoem.lamp]\nread = \"a\"":                                  `[hoem]: unknown section (did you mean [home]?)`,
	} {
		file := writeFile(t, good+in+"\n")
		if strings.HasPrefix(in, "mcp =") {
			file = writeFile(t, in+"\n")
		}
		_, err := Load(LoadOptions{File: file, Environ: []string{}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "file "+file) {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
			continue
		}
		c, err := Load(LoadOptions{File: file, Environ: []string{}, Anyway: true})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(in, "mcp =") && (len(c.MCP) != 1 || c.MCP[0].Name != "good" || len(c.Home) != 1 || c.Home[0].Name != "Good lamp") {
			t.Errorf("%s: what holds is %s and %s", in, c.servers(), c.things())
		}
	}
}

func TestTablesAreTaken(t *testing.T) {
	file := writeFile(t, `
[mcp.house]
url = "http://house.example/mcp"
header_files = { Authorization = "token" }
allow = ["a", "b"]
deadline_s = 2.5
[mcp.notes]
command = ["srv", "-x", ""]
env = { A = "1" }
env_files = { B = "/no/such/file" }
[home.heating]
topic = "h/set"
payloads = { away = "eco" }
range = [5, 25.5]
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "token"), []byte("Bearer x y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(LoadOptions{File: file, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.servers(), `["house: http://house.example/mcp +Authorization (a, b) 2.5 s", "notes: srv -x  +A +B"]`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := c.things(), `["heating: h/set away=eco 5-25.5"]`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if h, err := c.MCP[0].Headers(); err != nil || h["Authorization"] != "Bearer x y" {
		t.Errorf("%v, %v", h, err)
	}
	if _, err := c.MCP[1].Environment(); err == nil || !strings.Contains(err.Error(), "B: /no/such/file") {
		t.Errorf("%v", err)
	}
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[0], "without https") || !strings.Contains(c.Warnings[1], `[home.heating]: cannot be switched or read: room.broker = ""`) {
		t.Errorf("%q", c.Warnings)
	}
}
