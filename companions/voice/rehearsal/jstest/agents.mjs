// A stranger's agent: RealtimeSession of the official agents SDK, with its defaults (semantic_vad), hears and is heard, calls
// a tool, and is interrupted by speech. usage: agents.mjs HOST:PORT KEY
// The status is 0 only if all of it was as the protocol says.

import assert from 'node:assert/strict';
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from '@openai/agents-realtime';
import { z } from 'zod';

const [address, key] = process.argv.slice(2);
if (!address || !key) {
  console.error('usage: agents.mjs HOST:PORT KEY');
  process.exit(2);
}
const seen = [];
const waiting = [];
const errors = [];
const watchdog = setTimeout(() => {
  console.error(`no end after 90 s; last seen: ${seen.slice(-8).map((e) => e.type).join(', ')}`, errors);
  process.exit(1);
}, 90_000);

let volume;
const agent = new RealtimeAgent({
  name: 'Ada',
  instructions: 'You are Ada, a companion.',
  tools: [
    tool({
      name: 'set_volume',
      description: 'Sets the loudness.',
      parameters: z.object({ percent: z.number() }),
      execute: async ({ percent }) => `The volume is ${(volume = percent)} percent.`,
    }),
  ],
});
const session = new RealtimeSession(agent, { transport: new OpenAIRealtimeWebSocket({ url: `ws://${address}/v1/realtime?model=gpt-realtime-2.1` }), model: 'gpt-realtime-2.1' });
session.on('error', (e) => errors.push(e.error ?? e));
let interrupted = 0;
session.on('audio_interrupted', () => interrupted++);
session.on('transport_event', (event) => {
  seen.push(event);
  for (const w of [...waiting]) w();
});

// next resolves with the first event at or after position from that is of a type and as wanted.
const next = (type, from, wanted = () => true) =>
  new Promise((resolve) => {
    const look = () => {
      const found = seen.slice(from).find((e) => e.type === type && wanted(e));
      if (!found) return;
      waiting.splice(waiting.indexOf(look), 1);
      resolve(found);
    };
    waiting.push(look);
    look();
  });
const done = (from, status) => next('response.done', from, (e) => e.response.status === status);

// speak streams sound as a microphone does, only faster: what is not speech, then some that is, then silence.
const speak = (ms) => {
  const sound = (n, loud) => {
    const pcm = new Int16Array(24 * n);
    for (let i = 0; loud && i < pcm.length; i++) pcm[i] = Math.round(8000 * Math.sin((2 * Math.PI * 440 * i) / 24000));
    for (let i = 0; i < pcm.length; i += 960) session.sendAudio(pcm.slice(i, i + 960).buffer);
  };
  sound(400, false);
  sound(ms, true);
  sound(2000, false);
};

await session.connect({ apiKey: key });
const updated = await next('session.updated', 0, (e) => e.session.audio.input.turn_detection?.type === 'semantic_vad');
assert.equal(updated.session.tools.length, 1);
console.log(`session.updated: ${JSON.stringify(updated.session.audio.input.turn_detection)}`);

let at = seen.length;
speak(700);
const started = await next('input_audio_buffer.speech_started', at);
assert.equal((await next('input_audio_buffer.speech_stopped', at)).item_id, started.item_id);
assert.equal((await next('input_audio_buffer.committed', at)).item_id, started.item_id);
await next('response.output_audio.delta', at);
await done(at, 'completed');
console.log('speech: heard, committed, answered');

at = seen.length;
session.sendMessage('set the volume to thirty percent');
await next('response.function_call_arguments.done', at);
await next('response.output_audio_transcript.done', at, (e) => /30 percent/.test(e.transcript));
assert.equal(volume, 30);
await done(at, 'completed');
console.log('tool: called, answered');

at = seen.length;
session.sendMessage('tell me a story');
const first = await next('response.output_audio.delta', at);
speak(700);
const cut = await done(at, 'cancelled');
assert.equal(cut.response.id, first.response_id);
assert.equal(cut.response.status_details.reason, 'turn_detected');
const second = await next('response.created', seen.indexOf(cut));
await next('response.done', seen.indexOf(cut), (e) => e.response.id === second.response.id && e.response.status === 'completed');
assert.ok(interrupted > 0, 'audio_interrupted');
console.log('barge-in: cut by speech, and answered');

// The SDK truncates by its own clock, which may be ahead of what was sent; it ignores that refusal, as it does with the real one.
assert.deepEqual(errors.filter((e) => !/cannot be cut|no active response/i.test(JSON.stringify(e))), []);
session.close();
clearTimeout(watchdog);
console.log(`${seen.length} events; all as the protocol says`);
process.exit(0);
