import { createReceiver } from 'geohook'
import { expect, it, vi } from 'vitest'
import { deliver, FORM_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'

it.each([
  ['broken JSON', '{"events":', 'application/json', 400],
  ['a key that could pollute a prototype', '{"__proto__":{}}', 'application/json', 400],
  ['an invalid form', 'payload=%', FORM_TYPE, 400],
  ['an unknown content type', '{}', 'text/plain', 415],
])('does not decode %s before its signature is verified', async (_name, body, type, status) => {
  const handler = vi.fn()
  const parse = vi.spyOn(JSON, 'parse')
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', handler)
  const answer = (key: string) =>
    deliver(receiver, body, { 'content-type': type, 'x-service': signatureOf(body, key) })

  expect((await answer('another key')).status).toBe(401)
  expect(parse).not.toHaveBeenCalledWith(body)
  expect((await answer(KEY)).status).toBe(status)
  expect(handler).not.toHaveBeenCalled()
  parse.mockRestore()
})
