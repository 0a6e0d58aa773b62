// Errors reach the client as the SDK's own classes, and name the field.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';

import { client, oneCall, someText } from './client.mjs';

const refusals = [
  ['an unknown model', { ...someText, model: 'no-such-model' }, OpenAI.NotFoundError, 404, 'model'],
  ['a temperature above 2', { ...someText, temperature: 2.5 }, OpenAI.BadRequestError, 400, 'temperature'],
  ['a temperature in words', { ...someText, temperature: 'hot' }, OpenAI.BadRequestError, 400, 'temperature'],
  ['no messages', { ...someText, messages: [] }, OpenAI.BadRequestError, 400, 'messages'],
  [
    'a choice of no tool there is',
    { ...oneCall, tool_choice: { type: 'function', function: { name: 'unknown' } } },
    OpenAI.BadRequestError,
    400,
    'tool_choice',
  ],
];

for (const [what, body, kind, status, param] of refusals) {
  for (const stream of [false, true]) {
    test(`${what} is refused with ${status}, ${stream ? 'streamed' : 'not streamed'}`, async () => {
      const error = await client.chat.completions.create({ ...body, stream }).then(
        () => assert.fail('it was accepted'),
        (reason) => reason,
      );

      assert.ok(error instanceof kind, `${error.name}: ${error.message}`);
      assert.equal(error.status, status);
      assert.equal(error.type, 'invalid_request_error');
      assert.ok(error.param?.startsWith(param), `param is ${error.param}`);
      assert.ok(error.code);
      assert.ok(error.requestID);
    });
  }
}

test('the code of an unknown model is model_not_found', async () => {
  await assert.rejects(client.models.retrieve('no-such-model'), { status: 404, code: 'model_not_found' });
});
