// A stranger's client: the Realtime class of the official JavaScript library holds a conversation with the rehearsal
// server, with a tool call and a cancel. usage: converse.mjs HOST:PORT CERT.pem KEY.pem
//
// The class insists on wss, so that a TLS terminator with a certificate of the hour stands in front. Prints what it saw;
// the status is 0 only if all of it was as the protocol says.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';

const [address, certFile, keyFile] = process.argv.slice(2);
const split = (address ?? '').lastIndexOf(':');
const port = Number(address?.slice(split + 1));
if (split < 1 || !port || !keyFile) {
  console.error('usage: converse.mjs HOST:PORT CERT.pem KEY.pem');
  process.exit(2);
}
const cert = fs.readFileSync(certFile);
const watchdog = setTimeout(() => {
  console.error(`no end after 90 s; last seen: ${seen.slice(-5).map((e) => e.type).join(', ')}`);
  process.exit(1);
}, 90_000);

const terminator = tls.createServer({ cert, key: fs.readFileSync(keyFile) }, (outside) => {
  const inside = net.connect(port, address.slice(0, split));
  for (const [a, b] of [[outside, inside], [inside, outside]]) {
    a.pipe(b);
    a.on('error', () => b.destroy());
    a.on('close', () => b.destroy());
  }
});
await new Promise((ready) => terminator.listen(0, '127.0.0.1', ready));

const client = new OpenAI({ apiKey: 'rehearsal', baseURL: `https://127.0.0.1:${terminator.address().port}/v1` });
const rt = new OpenAIRealtimeWS({ model: 'gpt-realtime-2.1', options: { ca: cert } }, client);

const seen = [];
const waiting = [];
const errors = [];
rt.on('event', (event) => {
  seen.push(event);
  for (const w of [...waiting]) w();
});
rt.on('error', (err) => errors.push(err));

// next resolves with the first event of a type at or after position from.
const next = (type, from) =>
  new Promise((resolve) => {
    const look = () => {
      const found = seen.slice(from).find((e) => e.type === type);
      if (!found) return;
      waiting.splice(waiting.indexOf(look), 1);
      resolve(found);
    };
    waiting.push(look);
    look();
  });
const send = (event) => {
  const from = seen.length;
  rt.send(event);
  return from;
};
const of = (type, from) => seen.slice(from).filter((e) => e.type === type);
const spoken = (from) => of('response.output_audio_transcript.delta', from).map((e) => e.delta).join('').trim();
const heard = (from) => of('response.output_audio.delta', from).reduce((n, e) => n + Buffer.from(e.delta, 'base64').length / 48, 0);
const type = (text) =>
  send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] } });

const created = await next('session.created', 0);
console.log(`session.created: ${created.session.model}, voice ${created.session.audio.output.voice}`);

let at = send({
  type: 'session.update',
  session: {
    type: 'realtime',
    instructions: 'You are Ada, a companion.',
    output_modalities: ['audio'],
    audio: {
      input: { format: { type: 'audio/pcm', rate: 24000 }, turn_detection: null, transcription: { model: 'gpt-transcribe' } },
      output: { format: { type: 'audio/pcm', rate: 24000 }, voice: 'cedar' },
    },
    tools: [
      {
        type: 'function',
        name: 'set_volume',
        description: 'Sets the loudness.',
        parameters: { type: 'object', properties: { percent: { type: 'integer' } }, required: ['percent'] },
      },
    ],
  },
});
const updated = await next('session.updated', at);
assert.equal(updated.session.audio.input.turn_detection, null);
assert.equal(updated.session.tools.length, 1);
console.log('session.updated: push to talk, one tool');

// Half a second of a tone is sound, if not speech.
const tone = Buffer.alloc(2 * 12000);
for (let i = 0; i < 12000; i++) tone.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * 440 * i) / 24000)), 2 * i);
send({ type: 'input_audio_buffer.clear' });
for (let i = 0; i < tone.length; i += 4800) {
  send({ type: 'input_audio_buffer.append', audio: tone.subarray(i, i + 4800).toString('base64') });
}
at = send({ type: 'input_audio_buffer.commit' });
const item = (await next('input_audio_buffer.committed', at)).item_id;
at = send({ type: 'response.create', response: { metadata: { turn: 't-1' } } });
let done = await next('response.done', at);
assert.equal(done.response.status, 'completed');
assert.equal(done.response.metadata.turn, 't-1');
assert.ok(heard(at) > 500, 'an answer in sound');
assert.equal((await next('conversation.item.input_audio_transcription.completed', 0)).item_id, item);
console.log(`sound: answered "${spoken(at)}" in ${Math.round(heard(at))} ms of sound`);

type('set the volume to thirty percent');
at = send({ type: 'response.create' });
done = await next('response.done', at);
const call = done.response.output.find((o) => o.type === 'function_call');
assert.equal(call?.name, 'set_volume');
assert.deepEqual(JSON.parse(call.arguments), { percent: 30 });
assert.equal((await next('response.function_call_arguments.done', at)).call_id, call.call_id);
at = send({
  type: 'conversation.item.create',
  item: { type: 'function_call_output', call_id: call.call_id, output: 'The volume is 30 percent.' },
});
at = send({ type: 'response.create' });
done = await next('response.done', at);
assert.match(spoken(at), /30 percent/);
console.log(`tool: ${call.name}(${call.arguments}), then "${spoken(at)}"`);

type('tell me a story');
at = send({ type: 'response.create' });
const first = await next('response.output_audio.delta', at);
send({ type: 'response.cancel', response_id: first.response_id });
done = await next('response.done', at);
assert.equal(done.response.id, first.response_id);
assert.equal(done.response.status, 'cancelled');
assert.equal(done.response.status_details.reason, 'client_cancelled');
const after = seen.length;
at = send({ type: 'conversation.item.truncate', item_id: first.item_id, content_index: 0, audio_end_ms: 100 });
assert.equal((await next('conversation.item.truncated', at)).audio_end_ms, 100);
assert.equal(heard(after), 0, 'no sound after the cancelled end');
console.log('cancel: response.done cancelled, truncated at 100 ms');

assert.deepEqual(errors, []);
at = send({ type: 'input_audio_buffer.commit', event_id: 'too-little' });
const refused = await next('error', at);
assert.equal(refused.error.code, 'input_audio_buffer_commit_empty');
assert.equal(refused.error.event_id, 'too-little');
console.log(`error: ${refused.error.code} for ${refused.error.event_id}`);

// The conversation goes on after an error.
type('what is your name');
at = send({ type: 'response.create' });
done = await next('response.done', at);
assert.match(spoken(at), /Ada/);
console.log(`name: "${spoken(at)}"`);

rt.close();
terminator.close();
clearTimeout(watchdog);
console.log(`${seen.length} events; all as the protocol says`);
