import { type } from 'arktype'
import { createReceiver, type StandardSchema } from 'geohook'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deliver, FORM_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

interface Parcels {
  serviceName: string
}

const upper = (text: string): string => text.toUpperCase()

const SCHEMAS: Record<string, StandardSchema<Parcels>> = {
  zod: z.object({ serviceName: z.string().transform(upper) }),
  valibot: v.object({ serviceName: v.pipe(v.string(), v.transform(upper)) }),
  arktype: type({ serviceName: type.string.pipe(upper) }),
}

/** Simulates an asynchronous lookup of a service name. */
const isKnown = async (name: string): Promise<boolean> => {
  await new Promise((resolve) => setImmediate(resolve))
  return name === 'Parcels'
}

const ASYNC_SCHEMAS: Record<string, StandardSchema<Parcels>> = {
  zod: z.object({ serviceName: z.string().refine(isKnown, 'unknown') }),
  valibot: v.objectAsync({ serviceName: v.pipeAsync(v.string(), v.checkAsync(isKnown, 'unknown')) }),
}

/** Sends a delivery to a receiver with this schema. */
async function receive(schema: StandardSchema<Parcels>, body: string, headers: Record<string, string> = {}) {
  const { observer, calls } = createRecorder()
  const names: string[] = []
  const receiver = createReceiver({ signatureKey: KEY, schema, observer }).on('*', (_, { payload }) =>
    names.push(payload.serviceName),
  )
  const answer = await deliver(receiver, body, headers)
  return { answer, names, end: calls.at(-1) }
}

const REFUSED = { title: 'Payload invalid', status: 400, code: 'payload_invalid' }

describe.each(Object.entries(SCHEMAS))('%s', (_, schema) => {
  it('passes its output to handlers', async () => {
    const { answer, names } = await receive(schema, payloadOf('A'))
    expect([answer.status, names]).toEqual([200, ['PARCELS']])
  })

  it('checks a form', async () => {
    const body = `payload=${encodeURIComponent(payloadOf('A'))}`
    const { answer, names } = await receive(schema, body, { 'content-type': FORM_TYPE })
    expect([answer.status, names]).toEqual([200, ['PARCELS']])
  })

  it.each<[string, string]>([
    ['a number', '{"serviceName":7}'],
    ['null', '{"serviceName":null}'],
    ['an empty object', '{}'],
    ['an array', '["Parcels"]'],
    ['an empty array', '[]'],
    ['a thousand mistakes', `{"serviceName":[${'{},'.repeat(1000)}0]}`],
    ['names of built-in members', '{"toString":1,"valueOf":2,"hasOwnProperty":3,"then":4,"length":-1}'],
    ['a name in another case', '{"ServiceName":"Parcels"}'],
  ])('rejects %s, and passes the issues to the observer, but not to the sender', async (_, body) => {
    const { answer, names, end } = await receive(schema, body)
    expect([answer.status, answer.body, names]).toEqual([400, REFUSED, []])
    expect(end).toMatchObject({ name: 'refused', code: 'payload_invalid', outcome: { kind: 'refused' } })
    const issues = end?.error?.cause as { message: string }[]
    expect(issues.length).toBeGreaterThan(0)
    expect(issues[0]?.message).toBeTypeOf('string')
    expect(end?.error?.message).toBe(issues[0]?.message)
    expect(JSON.stringify([answer.body, [...answer.headers]])).not.toContain(issues[0]?.message)
  })

  it.each<[string, string, string]>([
    ['a prototype', '{"serviceName":"a","__proto__":{"x":1}}', 'payload_malformed'],
    ['deep nesting', `{"serviceName":"a","x":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'payload_malformed'],
    ['invalid JSON', '{"serviceName":', 'payload_malformed'],
  ])('is not called for %s', async (_, body, code) => {
    const { answer } = await receive(schema, body)
    expect([answer.status, answer.body.code]).toEqual([400, code])
  })

  it('is not called for an unverified body', async () => {
    const { answer } = await receive(schema, '{}', { 'x-service': signatureOf('{} ') })
    expect(answer.status).toBe(401)
  })
})

describe.each(Object.entries(ASYNC_SCHEMAS))('%s, asynchronous', (_, schema) => {
  it('is awaited', async () => {
    const good = await receive(schema, payloadOf('A'))
    expect([good.answer.status, good.names]).toEqual([200, ['Parcels']])
    const bad = await receive(schema, '{"serviceName":"Roads"}')
    expect([bad.answer.status, bad.answer.body, bad.names]).toEqual([400, REFUSED, []])
    expect(bad.end?.error?.message).toBe('unknown')
  })
})

describe('returns 500 if the schema fails:', () => {
  const fail = (): never => {
    throw new Error('no database at 10.0.0.7')
  }
  const plain = (validate: () => unknown) =>
    ({ '~standard': { version: 1, vendor: 'test', validate } }) as StandardSchema<Parcels>

  it.each<[string, StandardSchema<Parcels>]>([
    ['zod throws in a transform', z.object({ serviceName: z.string().transform(fail) })],
    ['valibot throws in a check', v.object({ serviceName: v.pipe(v.string(), v.check(fail)) })],
    [
      'valibot rejects',
      v.objectAsync({
        serviceName: v.pipeAsync(
          v.string(),
          v.checkAsync(async () => fail()),
        ),
      }),
    ],
    ['arktype throws in a pipe', type({ serviceName: type.string.pipe(fail) })],
    ['it throws', plain(fail)],
    ['it rejects', plain(async () => fail())],
    ['it returns undefined', plain(() => undefined)],
    ['it returns false', plain(() => false)],
    ['it returns an object without a value', plain(() => ({}))],
    ['it rejects with undefined', plain(() => Promise.reject())],
  ])('%s', async (_, schema) => {
    const { answer, names, end } = await receive(schema, payloadOf('A'))
    expect([answer.status, answer.body.code, names]).toEqual([500, 'handler_failed', []])
    expect(JSON.stringify(answer.body)).not.toContain('database')
    expect(end).toMatchObject({ name: 'refused', code: 'handler_failed' })
  })
})

it('rejects a payload if the schema returns an empty list of issues', async () => {
  const schema: StandardSchema<Parcels> = {
    '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [] }) },
  }
  expect((await receive(schema, '{}')).answer.body).toEqual(REFUSED)
})

it('builds the events from the payload as sent, not from the output of the schema', async () => {
  const types: string[] = []
  const schema = z.object({ serviceName: z.string() }).transform(() => ({ serviceName: 'x', events: [] }))
  const receiver = createReceiver({ signatureKey: KEY, schema }).on('*', ({ changeType, service }) =>
    types.push(changeType, service.serviceName),
  )
  await deliver(receiver, payloadOf('FeaturesCreated'))
  expect(types).toEqual(['FeaturesCreated', 'Parcels'])
})
