import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { raw } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import type { ReceiverRequest } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

/** Sends these header lines with a signed body. Returns the status, and the headers that the key function received. */
async function post(...lines: string[]) {
  const keyHeaders: ReceiverRequest['headers'][] = []
  const recorder = createRecorder()
  const receiver = createReceiver({
    observer: recorder.observer,
    signatureKey: ({ headers }) => {
      keyHeaders.push(headers)
      return KEY
    },
  }).on('*', () => {})
  const { url, close } = await listen(webhook(receiver))
  onTestFinished(close)
  const head = [
    'host: a',
    'connection: close',
    `x-service: ${signatureOf('{}')}`,
    'content-length: 2',
    ...lines,
  ]
  const text = await raw(url, `POST /hook HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n{}`)
  return { status: Number(text.slice(9, 12)), headers: keyHeaders[0] ?? {}, lines: recorder.lines }
}

const json = `content-type: ${JSON_TYPE}`

it('joins all values of a repeated header of which Node keeps only the first', async () => {
  const { status, headers } = await post(json, 'authorization: a', 'Authorization: b', 'AUTHORIZATION: c')
  expect([status, headers.authorization]).toEqual([200, 'a, b, c'])
  expect(headers).toMatchObject({ 'content-type': JSON_TYPE, host: 'a', 'x-service': signatureOf('{}') })
})

it('does not change a header that Node joins', async () => {
  const { headers } = await post(json, 'x-a: a', 'x-a: b', 'cookie: a=1', 'cookie: b=2')
  expect([headers['x-a'], headers.cookie]).toEqual(['a, b', 'a=1; b=2'])
})

it.each([
  ['the same', [json, json]],
  ['another type', [json, 'content-type: text/plain']],
  ['another type first', ['content-type: text/plain', json]],
])('rejects a second content-type: %s', async (_, types) => {
  const { status, lines } = await post(...types)
  expect([status, lines]).toEqual([415, ['refused content_type_unsupported']])
})
