import { createHmac } from 'node:crypto'
import { sign, verify, type WebhookError } from 'geohook'
import { describe, expect, it } from 'vitest'

const body = '{"events":[]}'
const signatureKey = 'parcels2026'

const errorOf = async (run: () => Promise<unknown>): Promise<WebhookError> =>
  run().then(
    () => expect.unreachable('no error was thrown'),
    (error: unknown) => error as WebhookError,
  )

const VARIABLE = 'If it comes from an environment variable, check that the variable is set.'

describe('an invalid key throws config_invalid with the message', () => {
  it.each<[string, unknown]>([
    [`signatureKey is missing: the value is undefined. ${VARIABLE}`, undefined],
    [`signatureKey is missing: the value is null. ${VARIABLE}`, [signatureKey, null]],
    ['signatureKey is an empty list', []],
    ['signatureKey must be a string or bytes, or a list of them', { 0: 'a', length: 1 }],
    ['signatureKey has more than 100 keys', new Array(101).fill('a')],
    ['signatureKey must be a string or bytes', [7]],
    ['signatureKey must be a string or bytes', [[signatureKey]]],
    ['signatureKey must be a string or bytes', [new ArrayBuffer(8)]],
    [`signatureKey is empty. ${VARIABLE}`, ''],
    [`signatureKey is empty. ${VARIABLE}`, [signatureKey, ' ']],
  ])('%s', async (message, key) => {
    const error = await errorOf(() => verify({ body, signature: 'x', signatureKey: key as string }))
    expect([error.code, error.message]).toEqual(['config_invalid', message])
  })
})

it.each<[string, unknown]>([
  ['the body must be bytes or a string, but its type is object', { events: [] }],
  ['the body must be bytes or a string, but its type is undefined', undefined],
])('an invalid body throws body_already_parsed with the message %s', async (message, parsed) => {
  const error = await errorOf(() => sign({ body: parsed as string, signatureKey }))
  expect([error.code, error.message]).toEqual(['body_already_parsed', message])
})

it.each([7, null, ['sha256=']])('sign rejects the prefix %j', async (prefix) => {
  const error = await errorOf(() => sign({ body, signatureKey, prefix: prefix as unknown as string }))
  expect([error.code, error.message]).toEqual(['config_invalid', 'prefix must be a string'])
})

it.each([' abc', 'abc\n', '\ufeffabc'])('sign and verify use the key %j unchanged', async (key) => {
  const signature = createHmac('sha256', key).update(body).digest('hex')
  expect(await sign({ body, signatureKey: key })).toBe(signature)
  expect(await verify({ body, signature, signatureKey: key })).toEqual({ ok: true, keyIndex: 0 })
})
