package device

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// liarsVar says for how long five devices have to converse beside one liar of each kind; make test-liars sets ten minutes.
const liarsVar = "CONCH_TEST_LIARS"

// Five devices make a room, each `conch run` as it is shipped, in a network namespace of its own, and with them one member for
// everything that a member can lie about. The five converse throughout: every question that a person asks is answered, at most
// at the third try, for a liar's presses do silence the room until it has pressed too often. And the host stays small.
func TestFiveDevicesConverseBesideLiars(t *testing.T) {
	if os.Getenv(liarsVar) == "" {
		t.Skipf("takes ten minutes: make test-liars (%s)", liarsVar)
	}
	long, err := time.ParseDuration(os.Getenv(liarsVar))
	if err != nil {
		t.Fatal(err)
	}
	h := newPairHouse(t)
	good := []*pairBox{h.box("kitchen", "Ada", 11), h.box("bedroom", "Ben", 12), h.box("hall", "Cleo", 13), h.box("attic", "Dora", 14), h.box("study", "Emil", 15)}
	names := []string{"Ada", "Ben", "Cleo", "Dora", "Emil"}
	var liars []*pairBox
	for i, kind := range liarKinds {
		liars = append(liars, h.box(kind, "Zed"+strconv.Itoa(i), 41+i))
	}
	for i, b := range h.boxes {
		b.start()
		if i > 0 {
			h.joins(good[0], b)
			h.together(i+1, time.Minute, h.boxes[:i+1]...)
		}
	}
	h.tell("%d devices are a room", len(h.boxes))
	for i, b := range liars {
		b.kill()
		h.liar(b, liarKinds[i])
	}
	h.tell("%d of them lie from now on", len(liars))
	before := h.memory(good[0])
	most, tries, asked := before, [4]int{}, 0
	for began := time.Now(); time.Since(began) < long; asked++ {
		at, to := good[asked%5], names[(asked*2+1)%5]
		a, b := 2+asked%7, 3+asked%11
		n := 1
		for ; n <= 3 && !h.answersIn(at, fmt.Sprintf("%s, what is %s plus %s", to, digits[a], digits[b]), fmt.Sprint(a+b)); n++ {
			<-time.After(3 * time.Second) // a person wonders, and asks again
		}
		if n > 3 {
			t.Errorf("%6.1f s: asked in the %s, three times: %s does not answer", time.Since(h.began).Seconds(), at.name, to)
			n = 3
		}
		tries[n]++
		most = max(most, h.memory(good[0]))
		<-time.After(2 * time.Second)
	}
	h.tell("%d questions: %d answered at the first try, %d at the second, %d at the third or not", asked, tries[1], tries[2], tries[3])
	h.tell("memory of the host: %d MiB before, %d MiB at most, %d MiB now", before>>10, most>>10, h.memory(good[0])>>10)
	if most > 62<<10 {
		t.Errorf("the host grew to %d MiB; 62 are allowed", most>>10)
	}
	for _, c := range good[0].conditions() {
		h.tell("the kitchen says: %s", c)
	}
}

var digits = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"}

// joins pairs a device with the room that another one keeps.
func (h *pairHouse) joins(host, b *pairBox) {
	h.t.Helper()
	host.must("POST", "/room/pair", map[string]any{}, nil)
	code := host.opened()
	if out, err := h.in(b.name, 90*time.Second, h.binary, b.args("room", "join", code)...); err != nil {
		h.t.Fatalf("conch room join in the %s: %v\n%s", b.name, err, out)
	}
	b.until("the room", 30*time.Second, b.onDisk)
}

// liar is what remains of a device that is not conch any more.
func (h *pairHouse) liar(b *pairBox, kind string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", h.ns(b.name), self)
	cmd.Env = append(os.Environ(), liarEnv+"="+kind+" "+b.dir+" 10.98.0.11:7483")
	cmd.Stdout, cmd.Stderr = b.log, b.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// answersIn asks once.
func (h *pairHouse) answersIn(at *pairBox, question, want string) bool {
	var a struct {
		Text string `json:"text"`
	}
	err := at.do("POST", "/ask", map[string]string{"text": question}, &a)
	return err == nil && strings.Contains(a.Text, want)
}

// memory is what a device holds of it, in KiB.
func (h *pairHouse) memory(b *pairBox) int {
	b.mu.Lock()
	pid := b.cmd.Process.Pid
	b.mu.Unlock()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// conditions are what the device says is wrong.
func (b *pairBox) conditions() (all []string) {
	var s struct {
		Conditions []struct{ Text, Do string } `json:"conditions"`
	}
	_ = b.do("GET", "/status", nil, &s)
	for _, c := range s.Conditions {
		all = append(all, c.Text+" ("+c.Do+")")
	}
	return all
}
