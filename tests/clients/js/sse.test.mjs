// The stream as it stands on the wire, which other clients read with less patience than the SDK.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { apiKey, baseURL, oneCall, someText, Weather } from './client.mjs';

// Returns the chunks of a streamed answer, having checked the form of the events around them.
async function chunks(body) {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ ...body, stream: true }),
  });
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type'), /^text\/event-stream/);
  assert.ok(response.headers.get('x-request-id'));

  const text = await response.text();
  assert.ok(text.endsWith('\n\n'));
  const events = text.slice(0, -2).split('\n\n').filter((event) => !event.startsWith(':'));
  events.forEach((event) => assert.match(event, /^data: [^\n]+$/));
  const data = events.map((event) => event.slice('data: '.length));
  assert.equal(data.pop(), '[DONE]');
  return data.map((item) => JSON.parse(item));
}

// Returns the deltas of one choice, in order.
const deltas = (all, index) =>
  all.flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index).map((choice) => choice.delta));

function checkFrame(all, n) {
  for (const key of ['id', 'created', 'model', 'object']) {
    assert.equal(new Set(all.map((chunk) => chunk[key])).size, 1, key);
  }
  assert.equal(all[0].object, 'chat.completion.chunk');

  const opened = [];
  const finished = new Set();
  for (const { index, delta, finish_reason } of all.flatMap((chunk) => chunk.choices)) {
    assert.ok(!finished.has(index), 'nothing follows the finish reason');
    if (!opened.includes(index)) {
      assert.equal(delta.role, 'assistant');
      opened.push(index);
    } else {
      assert.ok(!('role' in delta), 'the role is said once');
    }
    if (finish_reason !== null) finished.add(index);
  }
  const expected = Array.from({ length: n }, (_, index) => index);
  assert.deepEqual(opened, expected, 'choices open in order');
  assert.deepEqual([...finished].sort(), expected, 'each choice finishes');
}

function checkCalls(said) {
  const calls = [];
  for (const { index, id, type, function: piece } of said.flatMap((delta) => delta.tool_calls ?? [])) {
    if (index === calls.length) {
      assert.match(id, /^call_/);
      assert.equal(type, 'function');
      assert.equal(piece.name, 'get_weather');
      calls.push(piece.arguments);
    } else {
      assert.equal(index, calls.length - 1, 'calls follow one another without gaps');
      assert.deepEqual([id, type, piece.name], [undefined, undefined, undefined], 'said once');
      calls[index] += piece.arguments;
    }
  }
  calls.forEach((text) => Weather.parse(JSON.parse(text)));
  return calls;
}

test('a call keeps the rules of the stream', async () => {
  const all = await chunks(oneCall);

  checkFrame(all, 1);
  assert.equal(checkCalls(deltas(all, 0)).length, 1);
  assert.equal(all.at(-1).choices[0].finish_reason, 'tool_calls');
});

test('two choices open in order and each keeps the rules', async () => {
  const all = await chunks({ ...oneCall, n: 2, temperature: 1, seed: 3 });

  checkFrame(all, 2);
  for (const index of [0, 1]) assert.equal(checkCalls(deltas(all, index)).length, 1);
});

test('usage is the last chunk when it is asked for, and in no other', async () => {
  const all = await chunks({ ...someText, stream_options: { include_usage: true } });

  const last = all.pop();
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens);
  checkFrame(all, 1);
  all.forEach((chunk) => {
    assert.equal(chunk.usage ?? null, null);
    assert.equal(chunk.choices.length, 1);
  });
});

test('a chunk without choices is never sent unasked', async () => {
  const all = await chunks(someText);

  checkFrame(all, 1);
  all.forEach((chunk) => assert.equal(chunk.choices.length, 1));
});
