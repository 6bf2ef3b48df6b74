import { request } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import fastify from 'fastify'
import { createReceiver } from 'geohook'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { listen } from '../helpers/mounts/mounted.ts'

it.each<[string, announced: number | undefined, pieces: number[]]>([
  ['as announced', 120_000, [40_000, 40_000, 40_000]],
  ['as announced, with a last byte of its own', 120_001, [40_000, 40_000, 40_000, 1]],
  ['fewer than announced', 200_000, [40_000, 40_000, 40_000]],
  ['fewer than announced, with a small rest', 120_001, [100_000, 20_000]],
  ['more than announced', 100_000, [40_000, 40_000, 40_000]],
  ['more than announced, from a piece on', 80_000, [40_000, 40_000, 40_000, 7]],
  ['more than announced, in the first piece', 70_000, [80_000, 40_000]],
  ['few, and more than announced', 10, [8, 8, 8]],
  ['not announced', undefined, [40_000, 40_000, 40_000]],
])(
  'the bytes are exact, whatever length a request without a socket announces: %s',
  async (_, announced, pieces) => {
    const bodies: Buffer[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (_event, { rawBody }) =>
      bodies.push(Buffer.from(rawBody)),
    )
    const length = pieces.reduce((sum, size) => sum + size, 0)
    // No two pieces are alike.
    const text = Array.from({ length }, (_, index) => index).join('')
    const body = Buffer.from(`["${text.slice(0, length - 4)}"]`)
    expect(body.length).toBe(length)
    const ends = pieces.map((_, index) => pieces.slice(0, index + 1).reduce((sum, size) => sum + size))
    const payload = Readable.from(ends.map((end, index) => body.subarray(ends[index - 1] ?? 0, end)))
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
    const app = fastify()
    app.register(fastifyWebhook(receiver), { prefix: '/hook' })
    const answer = await app.inject({
      method: 'POST',
      url: '/hook',
      headers: { ...headers, ...(announced === undefined ? {} : { 'content-length': String(announced) }) },
      payload,
    })
    expect([answer.statusCode, bodies.length]).toEqual([200, 1])
    expect(bodies[0]?.equals(body)).toBe(true)
    await app.close()
  },
)

it('a length that is only announced costs no memory', async () => {
  const reading = createGate()
  const arrived = createGate()
  const receiver = createReceiver({ signatureKey: KEY, limit: '1gb', observer: { refused() {} } })
  const hook = webhook(receiver.on('*', () => {}))
  const mounted = await listen(async (req, res) => {
    void hook(req, res)
    while (req.listenerCount('data') === 0) await setImmediate()
    let length = 0
    req.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length === 60_000) arrived.release()
    })
    reading.release()
  })
  onTestFinished(() => mounted.close())
  const before = process.memoryUsage().arrayBuffers
  const headers = { 'content-type': JSON_TYPE, 'x-service': '0'.repeat(64), 'content-length': 2 ** 30 }
  const req = request(mounted.url, { method: 'POST', headers, agent: false }).on('error', () => {})
  req.flushHeaders()
  await reading.gate
  req.write('x'.repeat(60_000))
  await arrived.gate
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 2 ** 20)
  req.destroy()
  await receiver.close()
})
