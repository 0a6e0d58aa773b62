// Anthropic's SDK: create, stream, a round of a tool, count_tokens, errors.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';

import { apiKey, baseURL, model, Weather, weatherTool } from './client.mjs';

// This SDK adds /v1 by itself.
const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey, maxRetries: 0 });

const { name, description, parameters } = weatherTool.function;
const tool = { name, description, input_schema: parameters, strict: true };
const question = { role: 'user', content: 'What is the weather in Oslo, in celsius?' };
const oneCall = {
  model,
  max_tokens: 128,
  messages: [question],
  tools: [tool],
  tool_choice: { type: 'any', disable_parallel_tool_use: true },
  temperature: 0,
};

test('create gives a call that fits, whose result is taken', async () => {
  const asked = await client.messages.create(oneCall);
  assert.equal(asked.stop_reason, 'tool_use');
  const [use] = asked.content;
  Weather.parse(use.input);

  const result = { type: 'tool_result', tool_use_id: use.id, content: '12 degrees' };
  const answer = await client.messages.create({
    ...oneCall,
    max_tokens: 8,
    messages: [question, { role: 'assistant', content: asked.content }, { role: 'user', content: [result] }],
    tool_choice: { type: 'none' },
  });
  assert.equal(answer.type, 'message');
  assert.ok(answer.usage.output_tokens <= 8);
});

test('stream gives the pieces of the input, and the message that create gives', async () => {
  const pieces = [];
  const stream = client.messages.stream(oneCall).on('inputJson', (piece) => pieces.push(piece));
  const final = await stream.finalMessage();
  const whole = await client.messages.create(oneCall);

  assert.deepEqual(JSON.parse(pieces.join('')), final.content[0].input);
  assert.deepEqual(final.content[0].input, whole.content[0].input);
  assert.equal(final.stop_reason, 'tool_use');
  assert.equal(final.usage.output_tokens, whole.usage.output_tokens);
});

test('stream gives text as it is written', async () => {
  const texts = [];
  const stream = client.messages
    .stream({ model, max_tokens: 16, messages: [question], temperature: 0 })
    .on('text', (text) => texts.push(text));

  assert.equal(await stream.finalText(), texts.join(''));
  assert.ok(texts.length > 1);
});

test('countTokens counts tools as well', async () => {
  const plain = await client.messages.countTokens({ model, messages: [question] });
  const tools = await client.messages.countTokens({ model, messages: [question], tools: [tool] });

  assert.ok(plain.input_tokens > 0);
  assert.ok(tools.input_tokens > plain.input_tokens);
});

test('errors are the classes of the SDK', async () => {
  const refused = client.messages.create({ ...oneCall, tool_choice: { type: 'tool', name: 'nobody' } });
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.error.error.type, 'invalid_request_error');
    assert.match(error.message, /nobody/);
    assert.ok(error.requestID);
    return true;
  });
  await assert.rejects(client.messages.create({ ...oneCall, model: 'gone' }), Anthropic.NotFoundError);
});
