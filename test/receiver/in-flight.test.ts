import { createReceiver, type ReceiverOptions } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { receiverPort } from '../helpers/receiver-port.ts'

const body = payloadOf('FeaturesCreated')
const { length } = body

/** Creates a receiver whose byte budget fits two bodies. */
const createSmall = (options: Partial<ReceiverOptions> = {}) =>
  createReceiver({
    signatureKey: KEY,
    limit: length,
    maxInFlightBytes: 2 * length,
    observer: { refused() {} },
    ...options,
  })

/** Starts a request and sends a part of its body. The test sends the rest through the returned `sender`. */
function begin(receiver: ReturnType<typeof createSmall>, part: string, headers: Record<string, string> = {}) {
  let sender: ReadableStreamDefaultController<Uint8Array> | undefined
  const read = createGate()
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      sender = controller
      controller.enqueue(Buffer.from(part))
    },
    pull: () => void setImmediate(read.release), // called once the receiver has read the part
  })
  const request = new Request('http://a.example', {
    method: 'POST',
    body: stream,
    duplex: 'half',
    headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers },
  } as RequestInit)
  const response = receiver.fetch(request)
  return { response, sender: sender as ReadableStreamDefaultController<Uint8Array>, read: read.gate }
}

const whenRead = (begun: ReturnType<typeof begin>[]) => Promise.all(begun.map(({ read }) => read))

const statusOf = async (receiver: ReturnType<typeof createSmall>) => (await deliver(receiver, body)).status

describe('maxInFlightBytes', () => {
  it('counts a body until its handlers have finished', async () => {
    const { gate, release } = createGate()
    const handled = createGate()
    let calls = 0
    const receiver = createSmall().on('*', () => {
      if (++calls === 2) handled.release()
      return gate
    })
    const first = [deliver(receiver, body), deliver(receiver, body)]
    await handled.gate
    const refused = await deliver(receiver, body)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(refused.body).toEqual({ title: 'Receiver busy', status: 503, code: 'receiver_busy' })
    release()
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200])
    expect(await statusOf(receiver)).toBe(200)
  })

  it('counts the received part of a body, and frees it when the upload ends or fails', async () => {
    const receiver = createSmall()
    for (const end of [
      // The response is 401, because the signature is that of the complete body.
      (sender: ReadableStreamDefaultController) => sender.close(),
      (sender: ReadableStreamDefaultController) => sender.error(new Error('gone')),
    ]) {
      const begun = [begin(receiver, body.slice(1)), begin(receiver, body.slice(1))]
      await whenRead(begun)
      expect(await statusOf(receiver)).toBe(503)
      for (const { sender } of begun) end(sender)
      await Promise.all(begun.map(({ response }) => response))
      expect(await Promise.all([statusOf(receiver), statusOf(receiver)])).toEqual([200, 200])
      expect(await statusOf(receiver)).toBe(200)
    }
  })

  it('frees the received part of a body when the upload times out, and does not count later chunks', async () => {
    const receiver = createSmall({ bodyTimeout: 50 })
    const begun = [begin(receiver, body.slice(1)), begin(receiver, body.slice(1))]
    expect((await Promise.all(begun.map(({ response }) => response))).map(({ status }) => status)).toEqual([
      408, 408,
    ])
    expect(await Promise.all([statusOf(receiver), statusOf(receiver)])).toEqual([200, 200])
  })

  it('is not raised by a negative content-length', async () => {
    const { gate, release } = createGate()
    const receiver = createSmall().on('*', () => gate)
    const begun = begin(receiver, '', { 'content-length': String(-100 * length) })
    await begun.read
    const answers = [statusOf(receiver), statusOf(receiver), statusOf(receiver)]
    expect(await Promise.race(answers)).toBe(503)
    release()
    expect((await Promise.all(answers)).sort()).toEqual([200, 200, 503])
    begun.sender.error(new Error('gone'))
    await begun.response
  })

  it('refuses chunks that arrive after the response, and does not count them', async () => {
    const receiver = createSmall()
    let late: (chunk: Uint8Array) => void = () => {}
    const { status } = await receiverPort(receiver).receive({
      method: 'POST',
      url: '/hook',
      headers: { 'x-service': signatureOf(body) },
      read({ onChunk }) {
        late = onChunk
        return Promise.reject(new Error('gone'))
      },
    })
    expect(status).toBe(500)
    for (let count = 0; count < 3; count++)
      expect(() => late(Buffer.from(body))).toThrow(expect.objectContaining({ code: 'body_too_large' }))
    expect(await statusOf(receiver)).toBe(200)
  })

  it('counts no announced bytes before they arrive', async () => {
    const receiver = createSmall({ maxInFlightBytes: 10 * length })
    const announced = Array.from({ length: 100 }, () =>
      begin(receiver, '{', { 'content-length': String(length) }),
    )
    await whenRead(announced)
    expect(await statusOf(receiver)).toBe(200)
    for (const { sender } of announced) sender.error(new Error('gone'))
    await Promise.all(announced.map(({ response }) => response))
  })

  it('does not refuse bodies that are arriving because another body is announced', async () => {
    const receiver = createSmall()
    const begun = [begin(receiver, body.slice(0, -1)), begin(receiver, body.slice(0, -1))]
    await whenRead(begun)
    const announced = begin(receiver, '{', { 'content-length': String(length) })
    await whenRead([announced])
    begun[0]?.sender.enqueue(Buffer.from(body.slice(-1)))
    begun[0]?.sender.close()
    expect((await begun[0]?.response)?.status).toBe(200)
    for (const { sender } of [begun[1] as (typeof begun)[0], announced]) sender.error(new Error('gone'))
    await Promise.all([begun[1]?.response, announced.response])
  })

  it('accepts one of several bodies that exceed the limit together', async () => {
    const receiver = createSmall({ maxInFlightBytes: length })
    const half = Math.ceil(length / 2)
    const begun = Array.from({ length: 3 }, () => begin(receiver, body.slice(0, half)))
    await whenRead(begun)
    for (const { sender } of begun) {
      try {
        sender.enqueue(Buffer.from(body.slice(half)))
        sender.close()
      } catch {} // the receiver has cancelled the stream
    }
    const statuses = (await Promise.all(begun.map(({ response }) => response))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 503, 503])
  })

  it('defaults to limit if that is over 64 MiB, and cannot be less than limit', async () => {
    expect(() => createReceiver({ signatureKey: KEY, limit: '100mb' })).not.toThrow()
    expect(() => createReceiver({ signatureKey: KEY, limit: 100, maxInFlightBytes: '100b' })).not.toThrow()
    for (const maxInFlightBytes of [99, 0, '1 potato', Number.NaN])
      expect(() => createReceiver({ signatureKey: KEY, limit: 100, maxInFlightBytes })).toThrow(
        expect.objectContaining({
          code: 'config_invalid',
          message: expect.stringContaining('maxInFlightBytes'),
        }),
      )
  })

  it('rejects a body over limit with body_too_large, not receiver_busy, if it arrives in one chunk', async () => {
    const receiver = createSmall({ maxInFlightBytes: length })
    const bytes = Buffer.from(`${body} `)
    const outcome = await receiverPort(receiver).receive({
      method: 'POST',
      url: '/',
      headers: { 'x-service': signatureOf(bytes) },
      read({ onChunk }) {
        onChunk(bytes)
        return bytes
      },
    })
    expect(outcome.error?.code).toBe('body_too_large')
  })
})
