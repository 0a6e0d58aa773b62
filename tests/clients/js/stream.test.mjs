// chat.completions.stream: the SDK puts deltas together, and throws where a delta breaks the protocol.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { client, oneCall, someText, Weather } from './client.mjs';

test('a streamed call is whole, fits its schema, and finishes as tool_calls', async () => {
  const pieces = [];
  const done = [];
  const stream = client.chat.completions
    .stream(oneCall)
    .on('tool_calls.function.arguments.delta', (event) => pieces.push(event.arguments_delta))
    .on('tool_calls.function.arguments.done', (event) => done.push(event));

  const { choices } = await stream.finalChatCompletion();

  const [call] = choices[0].message.tool_calls;
  assert.equal(choices[0].finish_reason, 'tool_calls');
  assert.equal(call.function.name, 'get_weather');
  assert.equal(pieces.join(''), call.function.arguments);
  assert.deepEqual(done.map((event) => event.arguments), [call.function.arguments]);
  Weather.parse(JSON.parse(call.function.arguments));
});

test('streamed text is the text of the deltas, with usage when it is asked for', async () => {
  let text = '';
  const stream = client.chat.completions
    .stream({ ...someText, stream_options: { include_usage: true } })
    .on('content.delta', (event) => {
      text += event.delta;
    });

  const completion = await stream.finalChatCompletion();
  const usage = await stream.totalUsage();

  assert.ok(text.length > 0);
  assert.equal(completion.choices[0].message.content, text);
  assert.ok(usage.prompt_tokens > 0);
  assert.ok(usage.completion_tokens > 0 && usage.completion_tokens <= someText.max_completion_tokens);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
});

test('streamed or not, the answer is the same', async () => {
  const whole = await client.chat.completions.create({ ...oneCall, seed: 7 });
  const streamed = await client.chat.completions.stream({ ...oneCall, seed: 7 }).finalChatCompletion();

  const said = ({ choices: [{ finish_reason, message }] }) => ({
    finish_reason,
    content: message.content,
    calls: message.tool_calls.map((call) => [call.function.name, call.function.arguments]),
  });
  assert.deepEqual(said(streamed), said(whole));
});

test('a client that leaves mid-stream is followed by one that is served', async () => {
  const stream = await client.chat.completions.create({ ...someText, max_completion_tokens: 512, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break;
  }

  const next = await client.chat.completions.create(someText);

  assert.ok(next.choices[0].message.content.length > 0);
});
