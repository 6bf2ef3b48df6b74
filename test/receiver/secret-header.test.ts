import { createReceiver, type ReceiverOptions } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'

const SECRET = 'the-key-of-an-organization'
const body = payloadOf('A')

/** Delivers with the header `secret`. Returns everything that the key function, observer and handler received. */
async function receive(options: Partial<ReceiverOptions>, headers: Record<string, string>) {
  const seen: unknown[] = []
  const record = (one: unknown) => void seen.push(one)
  const receiver = createReceiver({
    signatureKey(request) {
      record(request)
      return KEY
    },
    observer: { around: record, accepted: record, handled: record, refused: record },
    ...options,
  })
  if (!options.inbox) receiver.on('*', (_, delivery) => record(delivery))
  const { status } = await deliver(receiver, body, { secret: SECRET, ...headers })
  return { status, seen }
}

describe('the header secret, in which organizations send their key,', () => {
  it.each<[string, number, Partial<ReceiverOptions>, Record<string, string>]>([
    ['signed', 200, {}, {}],
    ['unsigned', 200, { unsigned: 'accept' }, { 'x-service': '' }],
    ['refused', 401, {}, { 'x-service': signatureOf('other') }],
    ['equal to the key', 200, {}, { secret: KEY }],
  ])(
    'is redacted in everything that a program gets of a request that is %s',
    async (_, status, options, headers) => {
      const { status: actual, seen } = await receive(options, headers)
      expect(actual).toBe(status)
      expect(seen.length).toBeGreaterThan(1)
      expect(JSON.stringify(seen)).not.toMatch(new RegExp(`${SECRET}|${KEY}`))
      expect(JSON.stringify(seen)).toContain('"secret":"***"')
    },
  )

  it('is redacted in an inbox', async () => {
    const inbox = createMemoryInbox()
    expect((await receive({ inbox }, {})).status).toBe(202)
    const { entries } = await inbox.list()
    const item = await inbox.get(entries[0]?.id ?? '')
    expect(item?.delivery.headers).toMatchObject({ secret: '***', 'x-service': signatureOf(body) })
  })

  it('can be the signature header, and is not redacted then', async () => {
    const { status, seen } = await receive({ signatureHeader: 'Secret' }, { secret: signatureOf(body) })
    expect(status).toBe(200)
    expect(JSON.stringify(seen)).toContain(signatureOf(body))
  })

  it('does not change the headers of the request itself', async () => {
    const headers = { secret: SECRET }
    const request = { method: 'POST', url: '/', headers, read: () => new Uint8Array() }
    await receiverPort(createReceiver({ signatureKey: KEY, observer: {} })).receive(request)
    expect(headers).toEqual({ secret: SECRET })
  })
})
