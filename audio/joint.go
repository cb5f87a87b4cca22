package audio

// joint makes the way from what a card has played already to what should sound instead, where that came too late to take its place:
// a step would click. It keeps what was handed over and may still be taken back.
type joint struct {
	sent []int16 // as long as the card's buffer
	at   uint64  // frames handed over, without those taken back
	old  uint64  // where the way begins in them …
	have int     // … how many of them the card would have played …
	end  int16   // … what behind those …
	left int     // … and how much of the way is left
}

// jointFrames is 2 ms, as a fade is.
const jointFrames = CardRate / 500

// jointShare is how much of the new sounds at each frame of the way. It begins and ends flat: no corner.
var jointShare = func() (share [jointFrames]float64) {
	for i := range share {
		t := float64(i+1) / (jointFrames + 1)
		share[i] = t * t * (3 - 2*t)
	}
	return share
}()

// takenBack takes note of frames that will not be played, the last of them silence that was not handed over. late says that others,
// to be replaced too, have been.
func (j *joint) takenBack(frames, silent int, late bool) {
	j.end = 0
	if silent == 0 && j.at > 0 {
		j.end = j.sent[(j.at-1)%uint64(len(j.sent))]
	}
	frames = max(0, frames-silent)
	j.at -= min(uint64(frames), j.at)
	j.left = 0
	if late {
		j.old, j.have, j.left = j.at, frames, jointFrames
	}
}

// over changes the first frames of out that come after a late rewind, and keeps all.
func (j *joint) over(out []int16) {
	for i, x := range out {
		if j.left > 0 {
			share := jointShare[jointFrames-j.left]
			x = int16((1-share)*float64(j.was()) + share*float64(x))
			out[i] = x
			j.left--
			j.old++
			j.have--
		}
		j.sent[j.at%uint64(len(j.sent))] = x
		j.at++
	}
}

// was is what the card would have played now.
func (j *joint) was() int16 {
	if j.have <= 0 {
		return j.end
	}
	return j.sent[j.old%uint64(len(j.sent))]
}
