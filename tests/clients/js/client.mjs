// What the tests share: the client of the server under test, and one small strict tool.

import OpenAI from 'openai';
import { z } from 'zod';

if (!process.env.BASE_URL || !process.env.MODEL) {
  throw new Error('set BASE_URL (http://127.0.0.1:8000/v1) and MODEL to those of a running server');
}

export const baseURL = process.env.BASE_URL;
export const model = process.env.MODEL;
export const apiKey = process.env.API_KEY || 'none';
export const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

// Enumerations only: whatever the model would rather say, a call is short and ends by itself.
export const Weather = z.object({
  city: z.enum(['Paris', 'Rome', 'Oslo']),
  unit: z.enum(['celsius', 'fahrenheit']),
});

export const weatherTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    strict: true,
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', enum: ['Paris', 'Rome', 'Oslo'] },
        unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
      },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
};

// One call, the same one each time.
export const oneCall = {
  model,
  messages: [{ role: 'user', content: 'What is the weather in Oslo, in celsius?' }],
  tools: [weatherTool],
  tool_choice: 'required',
  parallel_tool_calls: false,
  temperature: 0,
  max_completion_tokens: 128,
};

// Some text, cut where it is long enough for a test.
export const someText = {
  model,
  messages: [{ role: 'user', content: 'Count from one to five.' }],
  temperature: 0,
  max_completion_tokens: 24,
};
