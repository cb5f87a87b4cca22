// The loudspeaker of one device: a short ring of samples that the page fills and the sound card empties.
//
//   in:   {pcm: ArrayBuffer, from: bytes to skip}   PCM16LE mono at the context's rate
//         {drop: n}                                 nothing of what is held may sound; n comes back
//   out:  {dropped: n, frame, had}                  silent from that frame on; had: something was sounding
//         {underruns, target}                       the ring ran dry in the middle; so much is waited for now, in samples
//
// Nothing is sent for silence, so a ring that is empty is the usual case, and one that is empty in the middle of a sentence is told by
// what comes next: soon after, it was late; later, it is something new.

const RING = sampleRate;                        // a second: more than that nobody may be behind
const LEAST = Math.round(0.04 * sampleRate);    // waited for before it sounds
const MOST = Math.round(0.2 * sampleRate);
const FADE = Math.round(0.002 * sampleRate);    // 96 of the 128 samples of a quantum: silence without a click
const LATE = Math.round(0.25 * sampleRate);     // an empty ring that is filled again within this was late
const CALM = 30 * sampleRate;                   // without an underrun, a little less is waited for

class Player extends AudioWorkletProcessor {
  constructor() {
    super();
    this.ring = new Float32Array(RING);
    this.read = 0;
    this.held = 0;          // samples in the ring
    this.target = LEAST;
    this.playing = false;
    this.waited = 0;        // samples for which something has been held back
    this.dry = -LATE;       // frame at which the ring ran dry
    this.calm = 0;
    this.underruns = 0;
    this.drops = [];        // asked for since the last quantum
    this.port.onmessage = ({ data }) => (data.pcm ? this.take(new Int16Array(data.pcm, data.from)) : this.drops.push(data.drop));
  }

  take(samples) {
    if (this.held === 0 && !this.playing && currentFrame - this.dry < LATE) {
      this.underruns++;
      this.calm = 0;
      this.target = Math.min(MOST, Math.round(this.target * 1.5));
      this.dry = -LATE;
      this.port.postMessage({ underruns: this.underruns, target: this.target });
    }
    const over = this.held + samples.length - RING;
    if (over > 0) { // the oldest go
      this.read = (this.read + over) % RING;
      this.held -= over;
    }
    let at = (this.read + this.held) % RING;
    for (let i = 0; i < samples.length; i++) {
      this.ring[at] = samples[i] / 32768;
      if (++at === RING) at = 0;
    }
    this.held += samples.length;
  }

  process(_, [[out]]) {
    if (this.drops.length > 0) {
      this.silence(out);
      return true;
    }
    if (!this.playing && this.held > 0) {
      this.waited += out.length;
      this.playing = this.held >= this.target || this.waited > 2 * this.target; // something short is not held back for ever
    }
    if (!this.playing) return true;
    const n = Math.min(out.length, this.held);
    for (let i = 0; i < n; i++) out[i] = this.next();
    if (this.held === 0) {
      this.playing = false;
      this.waited = 0;
      this.dry = currentFrame;
    }
    if ((this.calm += out.length) > CALM) {
      this.calm = 0;
      this.target = Math.max(LEAST, Math.round(this.target * 0.8));
    }
    return true;
  }

  next() {
    const sample = this.ring[this.read];
    if (++this.read === RING) this.read = 0;
    this.held--;
    return sample;
  }

  // silence fades what sounds out within this quantum and forgets the rest.
  silence(out) {
    const had = this.playing;
    let n = 0;
    for (; had && n < FADE && this.held > 0; n++) out[n] = this.next() * (1 - n / FADE);
    this.read = this.held = this.waited = 0;
    this.playing = false;
    this.dry = -LATE;
    for (const dropped of this.drops) this.port.postMessage({ dropped, frame: currentFrame + n, had });
    this.drops.length = 0;
  }
}

registerProcessor('player', Player);
