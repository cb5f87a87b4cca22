package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"conch/device/config"
	"conch/device/mcp"
	"conch/device/pattern"
	"conch/device/printable"
)

// checkServers tells of each server of the Model Context Protocol. They are not started for it: who runs knows how they are.
func checkServers(ctx context.Context, _ *Machine, s *Subject) (out []Finding) {
	if len(s.Servers) == 0 {
		return ok("", "no server of tools is configured")
	}
	r, here, err := s.running(ctx)
	states := map[string]mcp.State{}
	if here && err == nil {
		for _, st := range r.Servers {
			states[st.Name] = st
		}
	}
	for _, c := range s.Servers {
		st, known := states[c.Name]
		if !known {
			out = append(out, configuredServer(c)...)
			continue
		}
		out = append(out, serverState(c, st, s.Unit != "")...)
	}
	return out
}

// configuredServer is what can be seen of one that nobody has started.
func configuredServer(c config.MCP) []Finding {
	name := c.Name + ": "
	if _, err := c.Environment(); err != nil {
		return warn("", name+"a file that it needs cannot be read", err.Error(), "mend mcp."+c.Name+".env_files")
	}
	if _, err := c.Headers(); err != nil {
		return warn("", name+"a file that it needs cannot be read", err.Error(), "mend mcp."+c.Name+".header_files")
	}
	if len(c.Command) > 0 {
		if _, err := exec.LookPath(c.Command[0]); err != nil {
			return warn("", name+c.Command[0]+" is not there", "no such program on PATH", "install it, or correct mcp."+c.Name+".command")
		}
	}
	return note("", "%snobody has started it: conch does not run, or not with this configuration", name)
}

func serverState(c config.MCP, st mcp.State, unit bool) (out []Finding) {
	name := c.Name + ": "
	switch st.Is {
	case mcp.Ready:
		text := fmt.Sprintf("ready, %s, answers within %.0f ms", printable.Count(len(st.Tools), "tool"), st.LatencyMS)
		if st.Lost > 0 {
			text += "; started anew " + printable.Count(st.Lost, "time") + " so far"
		}
		out = ok("", "%s", name+text)
	case mcp.Starting:
		out = note("", "%sbeing started since %s; it has a minute for that", name, st.Since.Local().Format(time.TimeOnly))
	default:
		again := "it is being started again just now"
		if !st.Again.IsZero() {
			again = "it is started again by itself at " + st.Again.Local().Format(time.TimeOnly)
		}
		do := "try it by hand: " + shellWords(c.Command) + " (one that is well prints nothing, and waits)"
		if c.URL != "" {
			do = "is the address right, and does the server run? mcp." + c.Name + ".url = " + c.URL
		} else if unit {
			do += "; in the service it is another user, without home directories and /etc/conch (SKILLS.md 7)"
		}
		out = warn("", name+fmt.Sprintf("not there since %s, after %s; %s", st.Since.Local().Format(time.DateTime), printable.Count(st.Lost, "start"), again),
			st.Trouble, do)
	}
	if len(st.LeftOut) > 0 {
		out = append(out, warn("", name+fmt.Sprintf("%d of its tools cannot be called", len(st.LeftOut)),
			strings.Join(st.LeftOut[:min(5, len(st.LeftOut))], "; "),
			"name the ones you want in mcp."+c.Name+".allow; where a name is taken, give the server another one: [mcp.OTHER]")...)
	}
	return out
}

var unquoted = pattern.New(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWords are a command as a shell takes it.
func shellWords(command []string) string {
	var words []string
	for _, w := range command {
		if !unquoted().MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
