package round

import (
	"fmt"
	"math/bits"
	"os"
	"strings"
	"testing"
	"time"
)

// TestThePageHasTheNumbers: times and bounds are what ROOM.md says that they are. Who changes one of them by one, by a second or by a
// millisecond changes what people were told.
func TestThePageHasTheNumbers(t *testing.T) {
	data, err := os.ReadFile("../ROOM.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(data)), " ")
	span := func(d time.Duration) string {
		switch {
		case d >= 2*time.Minute && d%time.Minute == 0:
			return fmt.Sprintf("%d min", d/time.Minute)
		case d >= time.Second && d%(100*time.Millisecond) == 0:
			return fmt.Sprintf("%g s", d.Seconds())
		}
		return fmt.Sprintf("%g ms", d.Seconds()*1000)
	}
	number := func(n int) string {
		words := []string{"none", "once", "twice", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
		if n < 0 || n >= len(words) {
			return fmt.Sprint(n)
		}
		return words[n]
	}
	var minutes []string // for which presses are put off, one strike after the other
	for n := range maxStrikes + 1 {
		minutes = append(minutes, fmt.Sprint(1<<n))
	}
	c := DefaultConfig()
	m := c.Manners
	for _, says := range []string{
		fmt.Sprintf("%d devices, %d companions, %d on one device, %d messages that are kept, of which a vote looks at the last %d,", maxDevices, maxCompanions, maxPerDevice, maxRecent, sceneWindow),
		fmt.Sprintf("%d message ids remembered against duplicates, %d envelopes of votes that wait for their message, %d of one device;", maxSeen, maxEarly, maxEarlyEach),
		fmt.Sprintf("%d fingers on buttons, %d threads, %d answers under way on a device, %d claims from elsewhere", maxHolders, maxThreads, maxStakes, maxClaims),
		fmt.Sprintf("%d messages joined, %d newcomers that wait for history", maxJoins, maxHistories),
		fmt.Sprintf("a beat is sent each %s", span(c.Beat)),
		fmt.Sprintf("Three missed beats and half a beat more (%s)", span(time.Duration(c.Missed)*c.Beat+c.Beat/2)),
		fmt.Sprintf("It listens for %s and asks for cards", span(c.Join)),
		fmt.Sprintf("then it asks for history, at most %s times", number(maxAsks)),
		fmt.Sprintf("devices with a seat plus %s, never more than %s.", span(c.Margin), span(longestWait)),
		fmt.Sprintf("the pause (`room.pause_ms`, %g)", c.Pause.Seconds()*1000),
		fmt.Sprintf("A decided winner has %s for its claim (%s more after a person's message", span(c.ClaimLimit), span(PeopleWait)),
		fmt.Sprintf("%s from the claim to its first sample", span(c.StartLimit)),
		fmt.Sprintf("a **lease** of %s and renews it", span(c.Lease)),
		fmt.Sprintf("for one renewal (%s)", span(c.Renew)),
		fmt.Sprintf("An answer is given up after %s;", span(c.SpeakLimit)),
		fmt.Sprintf("gets ready %s before the last sample", span(c.Prepare)),
		fmt.Sprintf("claims, for %s at most.", span(c.Hold)),
		fmt.Sprintf("says within %s after a message that nobody has begun to answer", span(c.Together)),
		fmt.Sprintf("Beyond %d presses in %s, or %d in a minute", c.Presses/3, span(pressWindow), c.Presses),
		fmt.Sprintf("other packets may bring %d missed ones a minute", maxTold),
		fmt.Sprintf("One that is higher by %d at most is adopted", maxAhead),
		fmt.Sprintf("goes up to %d,%03d further for it, once a minute", maxOld/1000, maxOld%1000),
		fmt.Sprintf("more than %s in %s minutes, gets it", number(maxTaken), number(int(takenWindow/time.Minute))),
		fmt.Sprintf("and all of %s minutes were ended by others' presses", number(int(starvedLong/time.Minute))),
		fmt.Sprintf("for %s min; %s an hour long three in one minute do", strings.Join(minutes, ", "), map[time.Duration]string{30 * time.Minute: "half"}[starvedMemory]),
		fmt.Sprintf("until %s minute after (`room.presses`)", map[time.Duration]string{time.Minute: "a"}[pressesApart]),
		fmt.Sprintf("half a beat later, unless %s have", map[int]string{2: "two"}[historyTellers]),
		fmt.Sprintf("goes there in a pause (to 2^%d)", bits.Len64(maxFollow)-1),
		fmt.Sprintf("may change its companions %d times and cause %d lines in another's ledger", maxChanges, maxLines),
		fmt.Sprintf("one that was given up has %s to end.", span(forget)),
		fmt.Sprintf("where the rules' certainty is below %g)", CertainFrom),
		fmt.Sprintf("else %s for each point by which the first score leads", map[int]string{4: "a quarter"}[certainMargin]),
		fmt.Sprintf("where %s questions asked at a device", number(maxStarved)),
		fmt.Sprintf("a member turns %d times at once and then each %s", maxTurned, span(time.Minute/maxTurned)),
		fmt.Sprintf("has the thread** with that person for %s (", span(threadLasts)),
		fmt.Sprintf("| companion turns without a person | %d |", m.ChainLimit),
		fmt.Sprintf("| hand-offs in a row | %d |", m.Handoffs),
		fmt.Sprintf("| additions to an answer: turns after it that nobody asked for | %d |", m.ExtraLimit),
		fmt.Sprintf("| calls of a model a device, between two messages of people | %d |", c.Calls),
		fmt.Sprintf("| share of the last ten companion turns | %g %% |", 100*m.ShareLimit),
		fmt.Sprintf("| likeness that counts as repetition | %g %% |", 100*m.Repetition),
		fmt.Sprintf("| score to speak up | %g |", m.Threshold),
		fmt.Sprintf("| silence before one steps in | %s |", span(c.Silence)),
	} {
		if !strings.Contains(page, says) {
			t.Errorf("ROOM.md does not say %q", says)
		}
	}
	if exact := func(n uint64) bool { return uint64(float64(n)) == n }; !exact(maxEpoch-1) || exact(maxEpoch+1) { // a number of JSON
		t.Errorf("maxEpoch is %d, not the first number of those that JSON does not tell apart", uint64(maxEpoch))
	}
}
