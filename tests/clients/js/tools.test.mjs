// runTools and parse: what the SDK does with a call once it has arrived.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { client, model, oneCall, Weather } from './client.mjs';

const runnable = (calls) => ({
  type: 'function',
  function: {
    ...oneCall.tools[0].function,
    parse: JSON.parse,
    function: (weather) => {
      calls.push(weather);
      return `12 degrees ${weather.unit} in ${weather.city}`;
    },
  },
});

test('runTools calls the function with arguments that fit, and sends each result back', async () => {
  const calls = [];
  const runner = client.chat.completions.runTools(
    { ...oneCall, tools: [runnable(calls)] },
    { maxChatCompletions: 2 },
  );
  await runner.done();

  // The call is forced in both rounds: the second one had the first one's result in its prompt.
  assert.equal(calls.length, 2);
  calls.forEach((weather) => Weather.parse(weather));
  const roles = runner.messages.map((message) => message.role);
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'assistant', 'tool']);
  const [, asked, answered] = runner.messages;
  assert.equal(answered.tool_call_id, asked.tool_calls[0].id);
});

test('runTools streams as well', async () => {
  const calls = [];
  const runner = client.chat.completions.runTools(
    { ...oneCall, stream: true, tools: [runnable(calls)] },
    { maxChatCompletions: 1 },
  );
  await runner.done();

  assert.equal(calls.length, 1);
  Weather.parse(calls[0]);
});

test('runTools with a named tool calls that tool once', async () => {
  const calls = [];
  const tool_choice = { type: 'function', function: { name: 'get_weather' } };
  const runner = client.chat.completions.runTools({ ...oneCall, tool_choice, tools: [runnable(calls)] });

  const result = await runner.finalFunctionToolCallResult();

  assert.equal(calls.length, 1);
  assert.match(result, /^12 degrees (celsius|fahrenheit) in (Paris|Rome|Oslo)$/);
});

test('parse gives the arguments of a strict zod tool as an object', async () => {
  const tools = [zodFunction({ name: 'get_weather', parameters: Weather })];

  const completion = await client.chat.completions.parse({ ...oneCall, tools });

  const [call] = completion.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'get_weather');
  Weather.parse(call.function.parsed_arguments);
});

test('parse gives an answer in a zod schema as an object', async () => {
  const Reply = z.object({ mood: z.enum(['good', 'bad']), certain: z.boolean(), rating: z.literal([1, 2, 3]) });

  const completion = await client.chat.completions.parse({
    model,
    messages: [{ role: 'user', content: 'I love it. How do I feel?' }],
    response_format: zodResponseFormat(Reply, 'reply'),
    temperature: 0,
    max_completion_tokens: 128,
  });

  const { message, finish_reason } = completion.choices[0];
  assert.equal(finish_reason, 'stop');
  assert.deepEqual(Reply.parse(message.parsed), JSON.parse(message.content));
});

test('a streamed answer in a zod schema parses at its end', async () => {
  const Reply = z.object({ mood: z.enum(['good', 'bad']) });

  const completion = await client.chat.completions
    .stream({
      model,
      messages: [{ role: 'user', content: 'I love it. How do I feel?' }],
      response_format: zodResponseFormat(Reply, 'reply'),
      temperature: 0,
      max_completion_tokens: 64,
    })
    .finalChatCompletion();

  Reply.parse(completion.choices[0].message.parsed);
});
