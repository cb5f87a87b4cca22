// This page as a device: its microphone, its loudspeakers and its button, over one socket (/talk).
//
//   press -> every player is told to drop, then the socket hears of it. Nothing stands before that: no request, no drawing.
//
// A socket that is lost comes back by itself as long as the page has joined, and the button is up meanwhile.

const RATE = 48000;
const PAN = 0.75;             // how far to the left and right devices stand
const BEHIND = 64 * 1024;     // bytes that may wait in the socket before the microphone is dropped instead
const AGAIN = 500;            // milliseconds until the socket is tried again
const PATIENCE = 3000;        // that an answer may take
const REFUSALS = 40;          // in a row: a device may not have noticed yet that this page's old socket has gone

export class Sound {
  // on: {changed(), measured(ms, outputMs), loud(peak), renew()}. token: () => the page's; renew has it read anew.
  constructor(token, on) {
    this.token = token;
    this.on = on;
    this.state = 'off';       // off, joining, on, lost, refused
    this.why = '';            // a key of words.js, or the server's sentence where refused
    this.microphone = 'off';  // off, on, refused, missing
    this.seat = '';
    this.players = [];
    this.down = false;
    this.muted = false;
    this.measure = 0;
    this.waiting = null;      // for the players to be silent
    this.since = 0;           // when that seat was taken
    this.refusals = 0;        // since then
  }

  // join needs a gesture of the person. device: whose seat is wanted, or ''.
  async join(device) {
    if (this.state === 'joining' || this.state === 'on') return;
    this.device = device;
    this.refusals = REFUSALS; // a person who asks is told at once
    if (!globalThis.isSecureContext) return this.is('refused', 'insecure');
    if (!globalThis.AudioContext || !globalThis.AudioWorkletNode) return this.is('refused', 'noWorklet');
    this.is('joining');
    try {
      if (!this.context) {
        const context = new AudioContext({ sampleRate: RATE, latencyHint: 'interactive' });
        await Promise.all([context.audioWorklet.addModule('/player.js'), context.audioWorklet.addModule('/recorder.js')]);
        this.context = context;
      }
      await this.context.resume();
    } catch {
      return this.is('refused', 'noWorklet');
    }
    await this.listen();
    this.connect();
  }

  is(state, why = '') {
    this.state = state;
    this.why = why;
    this.on.changed();
  }

  // listen opens the microphone, unless it is muted.
  async listen() {
    if (this.muted || this.stream || this.opening || !this.context) return;
    this.opening = true;
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 } });
      const source = this.context.createMediaStreamSource(stream);
      const recorder = new AudioWorkletNode(this.context, 'recorder', { numberOfOutputs: 0 });
      recorder.port.onmessage = ({ data }) => this.record(data);
      source.connect(recorder);
      this.stream = { stream, source, recorder };
      this.microphone = 'on';
      stream.getAudioTracks()[0].addEventListener('ended', () => {
        this.deaf();
        this.microphone = 'missing';
        this.on.changed();
      });
    } catch (e) {
      this.microphone = e?.name === 'NotAllowedError' ? 'refused' : 'missing';
    }
    this.opening = false;
    if (this.muted) this.deaf(); // meanwhile
    this.on.changed();
  }

  // deaf ends the microphone: the browser shows that nobody listens.
  deaf() {
    if (!this.stream) return;
    for (const track of this.stream.stream.getTracks()) track.stop();
    this.stream.source.disconnect();
    this.stream.recorder.port.onmessage = null;
    this.stream = null;
    this.microphone = 'off';
    this.on.loud(0);
  }

  // mute follows the fact of the device whose seat this is.
  mute(muted) {
    if (this.muted === muted) return;
    this.muted = muted;
    if (muted) this.deaf();
    else if (this.state === 'on') this.listen();
    this.on.changed();
  }

  record({ pcm, peak }) {
    this.on.loud(peak);
    if (this.socket?.readyState === WebSocket.OPEN && this.seat && this.socket.bufferedAmount < BEHIND) this.socket.send(pcm);
  }

  connect() {
    clearTimeout(this.timer);
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/talk`);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.timer = setTimeout(() => this.socket === socket && this.lost(), PATIENCE);
    socket.onopen = () => this.send({ token: this.token(), device: this.seat || this.device });
    socket.onmessage = ({ data }) => (typeof data === 'string' ? this.told(JSON.parse(data)) : this.sound(data));
    socket.onclose = () => {
      if (this.socket === socket) this.lost();
    };
  }

  // lost lets go of the socket, which may not know yet that its other end has gone, and tries another one.
  lost() {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.down = false;
    this.drop();
    if (this.state === 'refused' || this.state === 'off') return;
    this.is('lost', 'soundLost');
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.again(), AGAIN);
  }

  // again tries: the device may be back, and have begun anew.
  async again() {
    await this.on.renew();
    if (this.state === 'lost' && !this.socket) this.connect();
  }

  // leave gives the seat back.
  leave() {
    this.is('off');
    this.deaf();
    this.drop();
    clearTimeout(this.timer);
    this.socket?.close();
  }

  told(m) {
    if (m.refused && this.refusals++ < REFUSALS) {
      this.lost();
    } else if (m.refused) {
      clearTimeout(this.timer);
      this.refusedBy = m.refused;
      this.is('refused', '');
      this.deaf();
    } else if (m.seat !== undefined) {
      clearTimeout(this.timer);
      this.seat = m.seat;
      this.since = performance.now();
      this.refusals = 0;
      this.place(m.devices ?? []);
      this.is('on');
    } else if (m.drop) {
      for (const i of m.drop) this.players[i]?.port.postMessage({ drop: 0 });
    }
  }

  // place gives each device a player, from left to right.
  place(devices) {
    for (const p of this.players) p.disconnect();
    this.players = devices.slice(0, 16).map((_, i, all) => {
      const player = new AudioWorkletNode(this.context, 'player', { numberOfInputs: 0, outputChannelCount: [1] });
      const where = new StereoPannerNode(this.context, { pan: all.length > 1 ? PAN * ((2 * i) / (all.length - 1) - 1) : 0 });
      player.port.onmessage = ({ data }) => data.dropped > 0 && this.dropped(data);
      player.connect(where).connect(this.context.destination);
      return player;
    });
  }

  sound(data) {
    const player = this.players[new Uint8Array(data, 0, 1)[0]];
    if (player && data.byteLength > 2) player.port.postMessage({ pcm: data, from: 2 }, [data]);
  }

  // drop silences everything that the page holds, and measures it where when tells of a press: the time stamp of its event.
  drop(when) {
    if (this.players.length === 0) return;
    this.measure++;
    for (const p of this.players) p.port.postMessage({ drop: this.measure });
    if (when === undefined) return;
    // The press on the clock of the sound: now, less what the event took to come here.
    const at = this.context.currentTime - (performance.now() - when) / 1000;
    this.waiting = { n: this.measure, at, left: this.players.length, frame: 0, had: false };
  }

  dropped({ dropped, frame, had }) {
    const w = this.waiting;
    if (!w || w.n !== dropped) return;
    if (had) {
      w.had = true;
      w.frame = Math.max(w.frame, frame);
    }
    if (--w.left > 0) return;
    this.waiting = null;
    if (w.had) this.on.measured(Math.max(0, 1000 * (w.frame / this.context.sampleRate - w.at)), 1000 * (this.context.outputLatency || this.context.baseLatency || 0));
  }

  // press: the button of this page is down since the time stamp.
  press(when) {
    this.drop(when);
    if (this.down || this.state !== 'on') return;
    this.down = true;
    this.send({ press: true });
    this.context.resume();
    this.on.changed();
  }

  release() {
    if (!this.down) return;
    this.down = false;
    this.send({ press: false });
    this.on.changed();
  }

  send(m) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(m));
  }
}
