import { createReceiver, type ReceiverRequest } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { raw } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { createRecorder } from '../helpers/recorder.ts'

/** Sends these header lines with a signed body; what the key function has seen, and the code of the answer. */
async function post(...lines: string[]) {
  const seen: ReceiverRequest['headers'][] = []
  const recorder = createRecorder()
  const receiver = createReceiver({
    observer: recorder.observer,
    signatureKey: ({ headers }) => {
      seen.push(headers)
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
  return { status: Number(text.slice(9, 12)), headers: seen[0] ?? {}, lines: recorder.lines }
}

const json = `content-type: ${JSON_TYPE}`

it('a header of which Node keeps only the first value is joined from all of them', async () => {
  const { status, headers } = await post(json, 'authorization: a', 'Authorization: b', 'AUTHORIZATION: c')
  expect([status, headers.authorization]).toEqual([200, 'a, b, c'])
  expect(headers).toMatchObject({ 'content-type': JSON_TYPE, host: 'a', 'x-service': signatureOf('{}') })
})

it('a header that Node joins is left as it is', async () => {
  const { headers } = await post(json, 'x-a: a', 'x-a: b', 'cookie: a=1', 'cookie: b=2')
  expect([headers['x-a'], headers.cookie]).toEqual(['a, b', 'a=1; b=2'])
})

it.each([
  ['the same', [json, json]],
  ['another', [json, 'content-type: text/plain']],
  ['another first', ['content-type: text/plain', json]],
])('a second content-type is not overlooked: %s', async (_, types) => {
  const { status, lines } = await post(...types)
  expect([status, lines]).toEqual([415, ['refused content_type_unsupported']])
})
