package device

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"conch/mqtt/mqtttest"
)

// BenchmarkManyRooms measures how many rooms of five devices one Mosquitto, and a cluster of three nodes, carry until a round takes twice
// as long at p99 as in a single room, all devices in this process and everything on the processors of this machine. Each room asks
// every second, all at different moments.
func BenchmarkManyRooms(b *testing.B) {
	fmt.Println("rooms of five devices: message at one device -> claim received by all; votes by rules; a question a second in each room, 20 s")
	for _, kind := range []string{"mosquitto", "cluster"} {
		b.Run(kind, func(b *testing.B) {
			for range b.N {
				urls := []string{}
				if kind == "mosquitto" {
					urls = append(urls, mqtttest.Start(b, mqtttest.Options{}).URL())
				} else {
					for _, n := range mqtttest.StartCluster(b, 3) {
						urls = append(urls, n.URL())
					}
				}
				single := 0.0
				var rooms []*benchRoomState
				for _, n := range []int{1, 5, 10, 20, 30, 40} {
					for len(rooms) < n {
						room, err := newBenchRoom(b, fmt.Sprint("bench", len(rooms)), urls, 5, 1)
						if err != nil {
							b.Fatalf("%d rooms: %v", n, err)
						}
						rooms = append(rooms, room)
					}
					p99 := manyRooms(b, kind, rooms)
					if single == 0 {
						single = p99
					}
					if n > 1 && p99 > 2*single {
						fmt.Printf("%-9s at %d rooms p99 is more than twice that of one\n", kind, n)
						if n >= 20 {
							break
						}
					}
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

func manyRooms(b *testing.B, kind string, rooms []*benchRoomState) (p99 float64) {
	b.Helper()
	const rounds = 20
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		took []float64
		late int
	)
	began := time.Now()
	cpu := benchCPU(func() {
		for i, room := range rooms {
			wg.Go(func() {
				for k := range rounds {
					at := began.Add(time.Duration(k)*time.Second + time.Duration(i)*time.Second/time.Duration(len(rooms)))
					time.Sleep(time.Until(at)) // the rooms ask at even distances, whatever an answer takes
					d, _, ok := room.ask(b, k)
					mu.Lock()
					if took = append(took, d); !ok {
						took, late = took[:len(took)-1], late+1
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	})
	if len(took) == 0 {
		b.Fatalf("%d rooms: no round came to a claim", len(rooms))
	}
	slices.Sort(took)
	fmt.Printf("%-9s %2d rooms %3d devices  p50 %6.2f p99 %6.2f max %6.2f ms, %d rounds without a claim of %d; %.0f %% of a processor for the devices\n",
		kind, len(rooms), 5*len(rooms), at(took, .5), at(took, .99), took[len(took)-1], late, len(took)+late, 100*cpu.Seconds()/time.Since(began).Seconds())
	return at(took, .99)
}
