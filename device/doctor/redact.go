package doctor

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"conch/device/config"
	"conch/device/pattern"
	"conch/device/redact"
	"conch/mqtt"
)

// What must not leave the house. Checks take care themselves; this is the second look at every sentence, so that a report
// can be pasted where everybody reads it.
var (
	homes  = pattern.New(`/(?:home|Users)/[^/\s:;,"']+|/root\b`)
	quoted = pattern.New(`'(/(?:home|Users)/[^/\s:;,"']+|/root)/`) // a shell finds no home within quotation marks
	v4     = pattern.New(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	mac    = pattern.New(`\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b`)
)

// public are words that name nobody, though a user may be called so.
var public = []string{"", "root", "conch", "pi"}

// hider returns what makes a sentence fit for others' eyes.
func (m *Machine) hider(s *Subject) func(string) string {
	redact.Add(s.Secrets...)
	words := map[string]string{}
	for _, name := range m.People {
		if !slices.Contains(public, name) && name != s.User {
			words[name] = "[user]"
		}
	}
	if s.Anonymous {
		for _, host := range s.Hosts {
			if host != "" {
				words[host] = "[host]"
			}
		}
	}
	var whole []*regexp.Regexp
	var instead []string
	for word, with := range words {
		whole = append(whole, regexp.MustCompile(`(^|[^A-Za-z0-9_.-])`+regexp.QuoteMeta(word)+`($|[^A-Za-z0-9_-])`))
		instead = append(instead, "${1}"+with+"${2}")
	}
	return func(text string) string {
		if text == "" {
			return ""
		}
		text = redact.Text(text)
		text = quoted().ReplaceAllString(text, "~/'")
		text = homes().ReplaceAllString(text, "~")
		text = mac().ReplaceAllString(text, "[mac]")
		if s.Anonymous {
			text = v4().ReplaceAllString(text, "[address]")
		}
		for i, w := range whole {
			text = w.ReplaceAllString(text, instead[i])
		}
		return text
	}
}

// secrets are what doctor may never print, whoever repeats it to us.
func secrets(cfg config.Config, environ []string) (all []string) {
	env := config.ReadEnvironment(environ)
	all = append(all, cfg.LiveKey(), cfg.Voice.Key.Reveal(), env.Get("OPENAI_API_KEY"))
	for _, file := range []string{cfg.Voice.KeyFile, cfg.Room.PasswordFile, cfg.Room.VoteKeyFile, filepath.Join(serviceKeys, "openai_api_key"),
		filepath.Join(serviceKeys, "hear_key"), filepath.Join(serviceKeys, "speak_key")} {
		if file == "" {
			continue
		}
		if text, _, err := config.ReadBounded(file, config.MaxKey); err == nil {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	for _, stage := range []string{"hear", "speak"} {
		if _, read := cfg.StageKey(stage); read != nil {
			key, _ := read() // one that can be read
			all = append(all, key)
		}
	}
	for _, s := range cfg.MCP {
		env, _ := s.Environment() // those that can be read
		headers, _ := s.Headers()
		all = append(slices.AppendSeq(all, maps.Values(env)), slices.Collect(maps.Values(headers))...)
	}
	return all
}

// houseNames are what tells houses apart: hosts, names and ids.
func houseNames(cfg config.Config) (all []string) {
	all = append(all, cfg.Device.Name, cfg.Room.Name, cfg.Room.User, cfg.HomeAssistant.User)
	addresses := slices.Concat(cfg.Room.Brokers(), []string{cfg.Voice.URL, cfg.Room.VoteURL, cfg.HomeAssistant.Broker})
	for _, station := range cfg.Radio.Stations {
		addresses = append(addresses, station.URL)
	}
	for _, raw := range addresses {
		if u, err := url.Parse(raw); err == nil && !strings.HasSuffix(u.Hostname(), "openai.com") {
			all = append(all, u.Hostname())
		}
	}
	if id, err := mqtt.ReadIdentity(cfg.State.Dir); err == nil {
		all = append(all, string(id.ID()))
	}
	for _, id := range cfg.Room.IDs() {
		all = append(all, string(id))
	}
	if host, err := os.Hostname(); err == nil {
		all = append(all, host)
	}
	return all
}
