package audio

// sent keeps the frames that were handed to a card last, for those that are taken back and should be played after all.
type sent struct {
	ring []int16 // as long as the card's buffer
	at   uint64  // frames handed over, without those taken back
}

// add takes note of frames that are handed over.
func (s *sent) add(frames []int16) {
	for _, x := range frames {
		s.ring[s.at%uint64(len(s.ring))] = x
		s.at++
	}
}

// back takes note of frames that were taken back.
func (s *sent) back(frames int) { s.at -= min(uint64(frames), s.at) }

// again writes into out what would be handed over now, had nothing been taken back.
func (s *sent) again(out []int16) {
	for i := range out {
		out[i] = s.ring[(s.at+uint64(i))%uint64(len(s.ring))]
	}
}
