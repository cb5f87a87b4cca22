// The microphone: pieces of 10 ms, PCM16LE mono at the context's rate, each with how loud it is (0 to 1).

const PIECE = sampleRate / 100;

class Recorder extends AudioWorkletProcessor {
  constructor() {
    super();
    this.begin();
  }

  begin() {
    this.piece = new Int16Array(PIECE);
    this.n = 0;
    this.peak = 0;
  }

  process([[samples]]) {
    if (!samples) return true; // nothing is connected
    for (const s of samples) {
      const x = Math.max(-1, Math.min(1, s));
      this.piece[this.n++] = x < 0 ? x * 32768 : x * 32767;
      this.peak = Math.max(this.peak, Math.abs(x));
      if (this.n === PIECE) {
        this.port.postMessage({ pcm: this.piece.buffer, peak: this.peak }, [this.piece.buffer]);
        this.begin();
      }
    }
    return true;
  }
}

registerProcessor('recorder', Recorder);
