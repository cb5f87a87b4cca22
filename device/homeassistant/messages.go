package homeassistant

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"conch/device/printable"
)

// about is what does not change while the device runs.
type about struct {
	id      string // of the device, as a part of topics
	name    string
	version string
	model   string
	url     string // where the device's page is, for a browser of the house; empty: nowhere
	prefix  string // of discovery
	rules
}

// message is what is to be published.
type message struct {
	topic, payload string
	retained       bool
}

func (a about) base() string             { return "conch-ha/" + a.id }
func (a about) availability() string     { return a.base() + "/avail" }
func (a about) discovery() string        { return a.part(0) }
func (a about) birth() string            { return a.prefix + "/status" }
func (a about) commands() string         { return a.base() + "/+/set" }
func (a about) of(key, of string) string { return a.base() + "/" + key + "/" + of }

// part is where a part of the discovery is told, if the whole is too much for the broker: each of these is the same device.
func (a about) part(n int) string {
	of := a.id
	if n > 0 {
		of += "_" + strconv.Itoa(n+1)
	}
	return a.prefix + "/device/conch_" + of + "/config"
}

// By the convention.
const (
	online  = "online"
	offline = "offline"
)

// wanted is everything that the broker is to keep, in the order in which it is told: what there is, that it is there, what it is like.
// gone are the platforms, by key, of entities that were told of once.
func (a about) wanted(v *view, gone map[string]string, takes limits) []message {
	all := v.entities(a.rules)
	out := append(a.discovered(all, gone, takes), message{a.availability(), online, true})
	for _, e := range all {
		if e.events != nil || e.state == "" {
			continue
		}
		out = append(out, message{a.of(e.key, "state"), fit(e), true})
		if e.attributes != nil {
			out = append(out, message{a.of(e.key, "attributes"), encode(e.attributes), true})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(gone)) { // what was kept of them, too
		out = append(out, message{a.of(key, "state"), "", true}, message{a.of(key, "attributes"), "", true})
	}
	return out
}

// fit is a state as Home Assistant takes it: a longer one is not shown at all. What a template takes apart is no state yet.
func fit(e entity) string {
	if e.more["val_tpl"] != nil {
		return e.state
	}
	s := []rune(strings.TrimSpace(printable.Text(e.state)))
	if len(s) > maxState {
		s = append(s[:maxState-1], '…')
	}
	return cmp.Or(string(s), unknown) // an empty one would be forgotten
}

// discovered is the discovery of the device: all its entities in one message, or in as many as the broker wants.
func (a about) discovered(all []entity, gone map[string]string, takes limits) (out []message) {
	keys := slices.Sorted(maps.Keys(gone))
	for begin := true; begin || len(all)+len(keys) > 0; begin = false {
		var m message
		n := len(all) + len(keys)
		for ; ; n-- {
			of := min(n, len(all))
			some := map[string]string{}
			for _, key := range keys[:n-of] {
				some[key] = gone[key]
			}
			if m = (message{a.part(len(out)), a.payload(all[:of], some), true}); takes.fits(m) || n <= 1 {
				break
			}
		}
		of := min(n, len(all))
		out, all, keys = append(out, m), all[of:], keys[n-of:]
	}
	return out
}

// payload is the discovery of some entities of the device.
func (a about) payload(all []entity, gone map[string]string) string {
	device := map[string]any{"ids": []string{"conch_" + a.id}, "name": printable.Name(a.name), "mf": "conch", "sw": a.version}
	if a.model != "" {
		device["mdl"] = printable.Name(a.model)
	}
	if a.url != "" {
		device["cu"] = a.url
	}
	components := map[string]any{}
	for key, platform := range gone {
		components[key] = map[string]any{"p": platform} // that alone takes it away
	}
	for _, e := range all {
		components[e.key] = a.component(e)
	}
	return encode(map[string]any{
		"dev": device, "o": map[string]any{"name": "conch", "sw": a.version},
		"avty": []any{map[string]any{"t": a.availability()}}, "qos": 1, "cmps": components,
	})
}

func (a about) component(e entity) map[string]any {
	c := map[string]any{
		"p": e.platform, "uniq_id": "conch_" + a.id + "_" + e.key, "name": e.name,
		"default_entity_id": e.platform + "." + plainSlug(a.name) + "_" + plainSlug(e.key),
	}
	for k, v := range e.more {
		c[k] = v
	}
	put := func(k, v string) {
		if v != "" {
			c[k] = v
		}
	}
	put("ic", e.icon)
	put("ent_cat", e.category)
	put("dev_cla", e.class)
	switch {
	case e.events != nil:
		c["stat_t"] = a.of(e.key, "event")
	case e.state != "":
		c["stat_t"] = a.of(e.key, "state")
	}
	if e.attributes != nil {
		c["json_attr_t"] = a.of(e.key, "attributes")
	}
	if e.command != nil {
		c["cmd_t"] = a.of(e.key, "set")
	}
	return c
}

// happened is what an event is told by.
func (a about) happened(h happening) message {
	return message{a.of(h.key, "event"), encode(h.data), false}
}

// platforms are the entities that there are, by key.
func platforms(all []entity) map[string]string {
	m := map[string]string{}
	for _, e := range all {
		m[e.key] = e.platform
	}
	return m
}

// latin are letters that are no other letter with a mark, as Home Assistant spells them in ids.
var latin = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// plainSlug is s as an entity id has it: Latin letters lose their marks (Küche: kuche), others stand as an underscore.
func plainSlug(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(latin.Replace(strings.ToLower(s))))
	t := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
	for strings.Contains(t, "__") {
		t = strings.ReplaceAll(t, "__", "_")
	}
	if t = strings.Trim(t, "_"); t == "" {
		return "conch"
	}
	return t[:min(len(t), maxSlug)]
}

// encode is JSON of our own types.
func encode(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
