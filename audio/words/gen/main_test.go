package main

import "testing"

func TestFadesHaveNoCorner(t *testing.T) {
	pcm := make([]int16, 100)
	for i := range pcm {
		pcm[i] = 10000
	}
	fade(pcm, 48, 48)
	if pcm[0] != 0 || pcm[99] != 0 || pcm[49] != 10000 {
		t.Errorf("ends %d and %d, middle %d", pcm[0], pcm[99], pcm[49])
	}
	for i := 1; i < len(pcm); i++ {
		if d := int(pcm[i]) - int(pcm[i-1]); d > 400 || d < -400 {
			t.Errorf("step of %d at %d", d, i)
		}
	}
	fade(pcm[:3], 48, 48) // shorter than the fade
}
