package tones

import "math"

// spectrum is the FFT of a window of real samples, as energies.
//
// The even samples are taken for real parts and the odd ones for imaginary parts of half as many complex ones; what belongs to
// which is told apart afterwards (the usual packing).
type spectrum struct {
	hann   [window]float32
	twist  [window / 2]complex64 // exp(-2 pi i k / window)
	order  [window / 2]uint16    // bits reversed
	work   [window / 2]complex64
	energy [window / 2]float32
}

func (s *spectrum) init() {
	const half = window / 2
	bits := 0
	for 1<<bits < half {
		bits++
	}
	for i := range s.hann {
		s.hann[i] = float32(0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/window))
	}
	for i := range half {
		sin, cos := math.Sincos(-2 * math.Pi * float64(i) / window)
		s.twist[i] = complex(float32(cos), float32(sin))
		r := 0
		for b := range bits {
			r |= i >> b & 1 << (bits - 1 - b)
		}
		s.order[i] = uint16(r)
	}
}

// of is the energy in each bin of the ring of samples whose oldest is at from. The result is good until the next call.
func (s *spectrum) of(samples *[window]float32, from int) *[window / 2]float32 {
	const half = window / 2
	w := &s.work
	for i := range half {
		a, b := (from+2*i)%window, (from+2*i+1)%window
		w[s.order[i]] = complex(samples[a]*s.hann[2*i], samples[b]*s.hann[2*i+1])
	}
	for size := 2; size <= half; size *= 2 {
		step := window / size
		for at := 0; at < half; at += size {
			for k := range size / 2 {
				lo, hi := &w[at+k], &w[at+k+size/2]
				t := *hi * s.twist[k*step]
				*hi = *lo - t
				*lo += t
			}
		}
	}
	const top = firstBin + 2*halfTones*binStep
	for k := firstBin; k < top; k++ {
		z, c := w[k], w[half-k]
		c = complex(real(c), -imag(c))
		even, odd := z+c, z-c
		odd = complex(imag(odd), -real(odd)) * s.twist[k]
		x := even + odd
		s.energy[k] = real(x)*real(x) + imag(x)*imag(x)
	}
	return &s.energy
}
