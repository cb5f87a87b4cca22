package mqtt

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/benchtest"
	"conch/mqtt/mqtttest"
)

// What a member that floods may do to the others.
const (
	floodHush   = 10 // ms that the hush of a good member may be later than in the same run without a flood
	floodGrowth = 16 // MiB that a good process may grow
	floodMemory = 46 + floodGrowth
)

// BenchmarkFlood is what a good member's hush and a good device's memory become while another member, with a key and a certificate of the
// room, says as much as the network takes. Host (with the broker), member and flooder are processes of their own, at the same
// priority. Presses come at the host and at the member in turn, every 30 ms whether the last one was heard or not; one that
// was not heard within 3 s after the last is lost. Hush: from the edge's confirmation at one device to OnPacket at the other.
// Own button: from the edge, which comes through a pipe, to where the loudspeaker would drop. Memory: resident, the most in the row.
//
//	CONCH_BENCH_PRESSES=100 go test -run '^$' -bench Flood ./mqtt    more or fewer presses a row (default 300)
func BenchmarkFlood(b *testing.B) {
	kinds := []string{"none", "junk", "forged", "large", "qos1", "foreign", "hammered"}
	b.Run("embedded", func(b *testing.B) {
		for range b.N {
			benchFlood(b, "embedded", kinds)
		}
	})
	b.Run("mosquitto", func(b *testing.B) {
		for range b.N {
			benchFlood(b, "mosquitto", append(kinds, "noise"))
		}
	})
}

func benchFlood(b *testing.B, name string, kinds []string) {
	h := newFloodHouse(b, name == "mosquitto", kinds)
	fmt.Printf("flood, %s broker, host, member and flooder as processes of their own at the same priority, %d CPUs; hush from the press's confirmation to OnPacket at the other device, every 30 ms, both ways; "+
		"own button from the edge to where the loudspeaker drops; MiB resident, the most in the row\n", name, runtime.NumCPU())
	var none floodRow
	for i, kind := range kinds {
		watch := benchtest.Start(b)
		row := h.row(b, kind, benchtest.Presses(300))
		stalls := watch.Stop()
		if i == 0 {
			none = row
		}
		fmt.Printf("%-10s %s\n", kind, row)
		base := none.hush.Sorted()
		if len(row.hush) == 0 || len(base) == 0 {
			b.Fatalf("%s: nobody heard anything", kind)
		}
		own := row.own.Sorted()
		benchtest.Report(b, benchtest.Result{What: kind + ": own button, p99", Figure: benchtest.Quantile(own, .99), Unit: "ms", N: len(own)})
		if kind == "noise" { // whose presses they are cannot be known before their signature: nothing is promised where a broker lets anybody write anything
			hush := row.hush.Sorted()
			benchtest.Report(b, benchtest.Result{What: "noise under a good member's name: hush, p99", Figure: benchtest.Quantile(hush, .99), Unit: "ms", N: len(hush), Note: fmt.Sprintf("%d of %d presses lost", row.lost, row.said)})
			continue
		}
		if i > 0 {
			what := kind + ": hush, against none of the same run"
			benchtest.Judge(b, row.hush, stalls, benchtest.Promise{What: what, Bound: benchtest.Quantile(base, .99) + floodHush, Share: 0.01, Wakes: 5})
		}
		benchtest.AtMost(b, kind+": presses lost", float64(row.lost), 0, "presses", fmt.Sprintf("of %d", row.said))
		for who, mib := range row.mib {
			benchtest.AtMost(b, kind+": memory of the "+who, mib, floodMemory, "MiB", "resident, the most in the row")
			benchtest.AtMost(b, kind+": growth of the "+who, mib-none.mib[who], floodGrowth, "MiB", "against none of the same run")
		}
	}
	b.ReportMetric(0, "ns/op")
}

type floodRow struct {
	hush, own  benchtest.Figures
	said, lost int
	mib        map[string]float64
	cpu        map[string]float64
	rate       float64 // envelopes a second that the flooder got rid of
	outs       int     // how often it was put out, or not let in again
}

func (r floodRow) String() string {
	of := func(f benchtest.Figures) string {
		s := f.Sorted()
		if len(s) == 0 {
			return "never"
		}
		return fmt.Sprintf("p50 %.2f p99 %.2f max %.1f ms", benchtest.Quantile(s, .5), benchtest.Quantile(s, .99), s[len(s)-1])
	}
	return fmt.Sprintf("hush %s, lost %d of %d; own button %s; host %.1f MiB %.0f %% CPU, member %.1f MiB %.0f %% CPU; flood %.0f/s, put out or kept out %d times",
		of(r.hush), r.lost, r.said, of(r.own), r.mib["host"], 100*r.cpu["host"], r.mib["member"], 100*r.cpu["member"], r.rate, r.outs)
}

// floodHouse is a room of three processes.
type floodHouse struct {
	dir     string
	devices map[string]*floodProcess
}

type floodProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	id  round.DeviceID

	mu    sync.Mutex
	lines []string
}

// newFloodHouse has a member for each kind of flood: one that was put out for the last one is kept out.
func newFloodHouse(b *testing.B, foreign bool, kinds []string) *floodHouse {
	b.Helper()
	h := &floodHouse{dir: b.TempDir(), devices: map[string]*floodProcess{}}
	a := mqtttest.NewAuthority(b)
	room := floodRoom{Room: "flood"}
	h.put(b, "ca", "CERTIFICATE", a.Cert.Raw)
	names := []string{"host", "member"}
	for _, kind := range kinds {
		names = append(names, "flooder-"+kind)
	}
	for _, name := range names {
		id, err := OpenIdentity(filepath.Join(h.dir, name))
		if err != nil {
			b.Fatal(err)
		}
		room.Members = append(room.Members, id.id)
		h.put(b, string(id.id)+".cert", "CERTIFICATE", a.Issue(b, id).Certificate[0])
	}
	if foreign {
		room.Foreign = mqtttest.Start(b, mqtttest.Options{}).Addr()
	}
	write := func() {
		text, _ := json.Marshal(room)
		if err := os.WriteFile(filepath.Join(h.dir, "room.json"), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	write()
	for i, name := range []string{"host", "member"} {
		p := h.start(b, name+" "+h.dir)
		p.id = room.Members[i]
		h.devices[name] = p
		if name == "host" && !foreign {
			room.Network = strings.Fields(p.await(b, 0, "network "))[1]
			write()
		}
	}
	for _, p := range h.devices {
		p.await(b, 0, "link true")
	}
	return h
}

func (h *floodHouse) put(b *testing.B, name, kind string, der []byte) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (h *floodHouse) start(b *testing.B, role string) *floodProcess {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := &floodProcess{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), "CONCH_MQTT_HELPER=flood "+role)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, s.Text())
			p.mu.Unlock()
		}
	}()
	b.Cleanup(func() { _ = p.cmd.Process.Kill(); <-read; _ = p.cmd.Wait() })
	return p
}

// said are the lines from the n-th on.
func (p *floodProcess) said(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[min(n, len(p.lines)):len(p.lines):len(p.lines)]
}

func (p *floodProcess) await(b *testing.B, from int, prefix string) string {
	b.Helper()
	for late := time.Now().Add(mqtttest.Patience); time.Now().Before(late); time.Sleep(5 * time.Millisecond) { // other processes
		for _, line := range p.said(from) {
			if strings.HasPrefix(line, prefix) {
				return line
			}
		}
	}
	b.Fatalf("waited in vain for %q: %q", prefix, p.said(from))
	return ""
}

// peak is the most memory since the last reset, in MiB; CPU in seconds.
func (p *floodProcess) peak(reset bool) (mib, cpu float64) {
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	if reset {
		_ = os.WriteFile(proc+"clear_refs", []byte("5"), 0)
	}
	text, _ := os.ReadFile(proc + "status")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			mib = float64(kib) / 1024
		}
	}
	stat, _ := os.ReadFile(proc + "stat")
	f := strings.Fields(string(stat))
	user, _ := strconv.ParseFloat(f[13], 64)
	system, _ := strconv.ParseFloat(f[14], 64)
	return mib, (user + system) / 100
}

// row has n presses, while the flooder does that.
func (h *floodHouse) row(b *testing.B, kind string, n int) floodRow {
	b.Helper()
	f := h.start(b, "flooder "+h.dir+" "+kind)
	defer func() { _ = f.cmd.Process.Kill() }()
	f.await(b, 0, "flooding")
	names := []string{"host", "member"}
	before, from, cpu := time.Now(), map[string]int{}, map[string]float64{}
	for name, p := range h.devices {
		from[name] = len(p.said(0))
		_, cpu[name] = p.peak(true)
	}
	type pressed struct{ edge, own, heard time.Duration }
	all := map[string]*pressed{}
	epoch := uint64(before.UnixMilli())
	for i := range n {
		name := names[i%2]
		key := fmt.Sprintf("%s %d", h.devices[name].id, epoch+uint64(i))
		all[key] = &pressed{edge: benchtest.Now()}
		fmt.Fprintf(h.devices[name].in, "press %d\n", epoch+uint64(i))
		time.Sleep(30 * time.Millisecond) // whatever became of it
	}
	time.Sleep(3 * time.Second) // for those that are late
	r := floodRow{said: n, mib: map[string]float64{}, cpu: map[string]float64{}}
	took := time.Since(before).Seconds()
	for name, p := range h.devices {
		var end float64
		r.mib[name], end = p.peak(false)
		r.cpu[name] = (end - cpu[name]) / took
		for _, line := range p.said(from[name]) {
			var id string
			var epoch uint64
			var at time.Duration
			if _, err := fmt.Sscanf(line, "heard %s %d %d", &id, &epoch, &at); err == nil {
				if x := all[fmt.Sprintf("%s %d", id, epoch)]; x != nil && x.heard == 0 {
					x.heard = at
				}
			} else if _, err := fmt.Sscanf(line, "own %d %d", &epoch, &at); err == nil {
				if x := all[fmt.Sprintf("%s %d", p.id, epoch)]; x != nil {
					x.own = at
				}
			}
		}
	}
	for _, x := range all {
		if x.own == 0 {
			b.Fatalf("%s: a button's own device has not seen it", kind)
		}
		r.own = append(r.own, benchtest.Sample{At: x.edge, MS: floodMS(x.own - x.edge)})
		if x.heard == 0 {
			r.lost++
		} else {
			r.hush = append(r.hush, benchtest.Sample{At: x.own, MS: floodMS(x.heard - x.own)})
		}
	}
	for _, line := range f.said(0) {
		var sent, ns float64
		if _, err := fmt.Sscanf(line, "sent %f %f", &sent, &ns); err == nil {
			r.rate = sent / (ns / 1e9)
		}
		if strings.HasPrefix(line, "out ") {
			r.outs++ // or not let in again
		}
	}
	return r
}

func floodMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
