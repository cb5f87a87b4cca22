package homeassistant

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"conch/mqtt/mqtttest"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("HOMEASSISTANT.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page has every entity that there is, as what it is, and no other.
func TestPageHasTheEntities(t *testing.T) {
	want, got := map[string]string{}, map[string]string{}
	for _, v := range views(t) {
		for _, e := range v.entities(rules{true, true}) {
			key := e.key
			if strings.HasPrefix(key, keyInvolvement+"_") {
				key = keyInvolvement + "_<id>"
			}
			want[key] = e.platform
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_<>]+)` \\| ([a-z_]+) \\|").FindAllStringSubmatch(page(t), -1) {
		got[row[1]] = row[2]
	}
	if !maps.Equal(want, got) {
		t.Errorf("the page has\n%v\nthere are\n%v", got, want)
	}
	for _, s := range states {
		if !strings.Contains(page(t), "`"+s+"`") {
			t.Errorf("the page does not have the state %s", s)
		}
	}
}

// The access list of the page is enough, and what it does not allow is not needed.
func TestAccessListOfThePage(t *testing.T) {
	list := regexp.MustCompile("(?s)```\n(user conch\n.*?)```").FindStringSubmatch(page(t))
	if list == nil {
		t.Fatal("there is none")
	}
	m := mqtttest.Start(t, mqtttest.Options{
		Users: map[string]string{"conch": "a", "house": "b"}, ACL: list[1] + "user house\ntopic readwrite #\n",
	})
	secret := t.TempDir() + "/password"
	if err := os.WriteFile(secret, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newFake()
	d.o.Config.Broker, d.o.Config.User, d.o.Config.PasswordFile, d.o.Note = m.URL(), "conch", secret, t.TempDir()+"/homeassistant.json"
	house := []string{"-u", "house", "-P", "b"}
	w := watch(t, m.Addr(), house...)
	stop := runs(t, d)
	w.shows(baseTopic+"/problem/state", "OFF")
	w.until("the device", func() bool { return w.count(configTopic) == 1 })
	m.Publish(baseTopic+"/stop/set", []byte("PRESS"), house...)
	w.until("silence", func() bool { return slices.Equal(d.done(), []string{"POST /hush"}) })
	m.Publish("homeassistant/status", []byte("online"), house...)
	w.until("the answer to a birth", func() bool { return w.count(configTopic) == 2 })
	stop()
	d.o.Config.Discovery = false
	runs(t, d)
	w.until("the note's end", func() bool { _, err := os.Stat(d.o.Note); return os.IsNotExist(err) })
	var left []string
	late := watch(t, m.Addr(), house...)
	for _, line := range late.lines() {
		if strings.HasPrefix(line, "1 ") {
			left = append(left, line)
		}
	}
	if len(left) > 0 {
		t.Errorf("left:\n%s", fmt.Sprint(left))
	}
}
