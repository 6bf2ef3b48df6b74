import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createReceiver, type Receiver } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

/** A client of a server with this receiver. */
async function open(receiver: Receiver): Promise<ClientHttp2Session> {
  const listener = webhook(receiver)
  const server = createServer((req, res) => void listener(req as never, res as never))
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => session.destroy())
  return session
}

const begin = (session: ClientHttp2Session, body: string, signature: string): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': '/hook',
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    'x-service': signature,
  })

async function answerOf(stream: ClientHttp2Stream): Promise<[number, string]> {
  const [headers] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return [headers[':status'], text]
}

/** Many on one connection, so that a stream that did not end would be seen. */
it.each([10, 1_000, 300_000])(
  'deliveries of %i bytes over HTTP/2 are answered, and their streams end',
  async (size) => {
    const seen: number[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (_event, { rawBody }) =>
      seen.push(rawBody.length),
    )
    const session = await open(receiver)
    const body = JSON.stringify({ events: [], more: 'x'.repeat(size) })
    const deliver = (signature: string) => answerOf(begin(session, body, signature).end(body))
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(signatureOf(body))))
    expect(answers).toEqual(answers.map(() => [200, '{"status":"handled"}']))
    expect(seen).toEqual(answers.map(() => Buffer.byteLength(body)))
    expect((await deliver('0'.repeat(64)))[0]).toBe(401)
    await receiver.close()
    expect(receiver.stats().atWork).toBe(0)
  },
)

it.each([
  ['a receiver that handles', () => {}],
  ['a middleware', undefined],
])('%s waits for the end of a stream, and no longer than its time-out', async (_, handler) => {
  const receiver = createReceiver({ signatureKey: KEY, bodyTimeout: 50 })
  if (handler) receiver.on('*', handler)
  const session = await open(receiver)
  for (const size of [10, 300_000]) {
    const body = JSON.stringify({ events: [], more: 'x'.repeat(size) })
    const stream = begin(session, body, signatureOf(body))
    stream.write(body)
    expect([size, (await answerOf(stream))[0]]).toEqual([size, 408])
  }
})

it('a stream that is longer than it said is not taken for one that something else has read', async () => {
  const recorder = createRecorder()
  const { observer, told } = recorder
  const session = await open(createReceiver({ signatureKey: KEY, observer }).on('*', () => {}))
  const stream = begin(session, 'abc', '0'.repeat(64))
  stream.on('error', () => {})
  stream.end('abcdef')
  await told('refused body_aborted')
  expect(recorder.lines).toEqual(['refused body_aborted'])
})
