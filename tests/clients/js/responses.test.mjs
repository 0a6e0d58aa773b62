// The Responses API: create, stream, parse, and a call with its output.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { client, model, Weather, weatherTool } from './client.mjs';

const oneCall = {
  model,
  input: 'What is the weather in Oslo, in celsius?',
  tools: [{ type: 'function', ...weatherTool.function }],
  tool_choice: 'required',
  parallel_tool_calls: false,
  temperature: 0,
  max_output_tokens: 128,
};

const Mood = z.object({ mood: z.enum(['good', 'bad']), certain: z.boolean() });
const oneMood = {
  model,
  input: 'I love it. How do I feel?',
  text: { format: zodTextFormat(Mood, 'mood') },
  temperature: 0,
  max_output_tokens: 60,
};

test('create gives a call with arguments that fit', async () => {
  const response = await client.responses.create(oneCall);

  assert.equal(response.status, 'completed');
  assert.equal(response.output.length, 1);
  const [call] = response.output;
  assert.equal(call.type, 'function_call');
  assert.match(call.call_id, /^call_/);
  Weather.parse(JSON.parse(call.arguments));
});

test('parse gives the arguments of a zod tool and the answer of a zod format', async () => {
  const tools = [zodResponsesFunction({ name: 'get_weather', parameters: Weather })];
  const called = await client.responses.parse({ ...oneCall, tools });
  const answered = await client.responses.parse(oneMood);

  Weather.parse(called.output[0].parsed_arguments);
  Mood.parse(answered.output_parsed);
  assert.deepEqual(JSON.parse(answered.output_text), answered.output_parsed);
});

test('stream gives a call as it grows, and ends with it', async () => {
  const stream = client.responses.stream(oneCall);
  const deltas = [];
  const numbers = [];
  for await (const event of stream) {
    numbers.push(event.sequence_number);
    if (event.type === 'response.function_call_arguments.delta') deltas.push(event.delta);
  }
  const final = await stream.finalResponse();

  assert.deepEqual(numbers, [...numbers.keys()]);
  assert.equal(deltas.join(''), final.output[0].arguments);
  assert.equal(final.output[0].status, 'completed');
});

test('stream gives an answer in its format', async () => {
  const stream = client.responses.stream(oneMood);
  let text = '';
  stream.on('response.output_text.delta', (event) => {
    text += event.delta;
    assert.equal(event.snapshot, text);
  });
  const final = await stream.finalResponse();

  assert.equal(final.output_text, text);
  Mood.parse(final.output_parsed);
});

test('a call goes back with its output, as items or by the id of the response', async () => {
  const first = await client.responses.create(oneCall);
  const [call] = first.output;
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'It is 12 degrees.' };
  const onward = { ...oneMood, tools: oneCall.tools, tool_choice: 'none' };
  const byItems = await client.responses.parse({
    ...onward,
    input: [{ role: 'user', content: oneCall.input }, ...first.output, output],
  });
  const byId = await client.responses.parse({ ...onward, input: [output], previous_response_id: first.id });

  Mood.parse(byItems.output_parsed);
  assert.equal(byId.output_text, byItems.output_text);
  assert.equal(byId.usage.input_tokens, byItems.usage.input_tokens);
});

test('what is stored can be asked for, listed and deleted', async () => {
  const first = await client.responses.create(oneMood);
  const again = await client.responses.retrieve(first.id);
  const items = [];
  for await (const item of client.responses.inputItems.list(first.id)) items.push(item.type);
  await client.responses.delete(first.id);

  assert.equal(again.output_text, first.output_text);
  assert.deepEqual(items, ['message']);
  await assert.rejects(client.responses.retrieve(first.id), { status: 404, code: 'response_not_found' });
});
