package turn

import (
	"strings"
	"testing"
)

// TestACallCarriesWhoseWordsCausedIt: each way in which a turn begins, a call of its first response and one of its second.
func TestACallCarriesWhoseWordsCausedIt(t *testing.T) {
	start := map[string]string{
		"utterance": strings.Join(toAsking, "\n"), "line": "ready\nask t-1 hello", "room": "ready\nfloor t-1 ben",
		"injected": "ready\ninject t-1 tea", "kept": strings.Join(toTold, "\n") + "\ninject t-4 - - - true",
	}
	for name, lines := range start {
		cause, id := strings.Replace(name, "kept", "utterance", 1), map[bool]string{true: "t-4", false: "t-1"}[name == "kept"]
		b := newBench(t, Config{}).run(strings.Split(lines, "\n")...).run("tool-called "+id+" r5 c1 clock", "tool-returned "+id+" c1 noon", "done "+id+" r5")
		b.forget().run("tool-called " + id + " r6 c2 clock")
		b.wantHas("CallTool turn=" + id + map[bool]string{true: " who=ben"}[name == "room"] + " response=r6 call=c2 name=clock cause=" + cause)
	}
}

// TestWordsOfOthersStandBeforeTheNextResponse: not before one that was written without them; of two skills neither is the source.
func TestWordsOfOthersStandBeforeTheNextResponse(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "ask t-1 hello", "tool-called t-1 r1 c1 play", "tool-returned t-1 c1 Which? - - - library")
	b.forget().run("tool-called t-1 r1 c2 light")
	b.wantHas("CallTool turn=t-1 response=r1 call=c2 name=light cause=line")
	b.run("tool-returned t-1 c2 told", "done t-1 r1").forget().run("tool-called t-1 r2 c3 play")
	b.wantHas("CallTool turn=t-1 response=r2 call=c3 name=play cause=result quoted=library")
	b.run("tool-returned t-1 c3 on - - - home", "done t-1 r2").forget().run("tool-called t-1 r3 c4 play")
	b.wantHas("CallTool turn=t-1 response=r3 call=c4 name=play cause=result quoted=*")
	b.run("ask t-2 yes").forget().run("tool-called t-2 r4 c5 light")
	b.wantHas("CallTool turn=t-2 response=r4 call=c5 name=light cause=line")
}

// TestWordsToBeSaidAreAskedForWithoutTools, those behind a refused call too; a call of another's words never becomes a person's.
func TestWordsToBeSaidAreAskedForWithoutTools(t *testing.T) {
	b := newBench(t, Config{}).run("ready", "inject t-1 tea")
	b.wantHas("CreateResponse turn=t-1 prompt=tea notools=true")
	b.run("tool-called t-1 r1 c1 mute", "tool-returned t-1 c1 no - - - home").forget().run("done t-1 r1")
	b.wantHas("CreateResponse turn=t-1 prompt=tea notools=true")
	b.forget().run("tool-called t-1 r2 c2 mute")
	b.wantHas("CallTool turn=t-1 response=r2 call=c2 name=mute cause=injected")
	for _, c := range Causes {
		if c.Silent() && c.ByPerson() {
			t.Errorf("%v is a person's and is silent", c)
		}
	}
	if len(Causes) != int(CauseResult)+1 {
		t.Error("a cause is missing from Causes")
	}
}
