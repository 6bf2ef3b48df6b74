import { createInspector, createRequestLog } from 'geohook/inspector'
import { expect, it } from 'vitest'
import { JSON_TYPE, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { onlyId, startInspected } from './helpers/request-log-support.ts'

const KEY = 'parcels2026-long-key'
const TOKEN = 'a token of the test'

it.each([1970, 1980, 1990, 1999, 2000])('a key after %s characters of an error is hidden', async (length) => {
  const { hook, page } = await startInspected({ signatureKey: KEY }, (receiver) => {
    receiver.on('*', () => {
      throw new Error('y'.repeat(length - 'Error: '.length) + KEY)
    })
  })
  const body = payloadOf('FeaturesCreated')
  await send(hook, { headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body, KEY) }, body })
  const { text } = await page.get(`/deliveries/${await onlyId(page)}`)
  expect(text).toContain('yyyy')
  expect(text).not.toContain('yyp')
})

it.each([
  ['y', 0],
  ['y', 5],
  ['y', 19],
  ['\u4e16', 0], // three bytes
  ['\u4e16', 19],
])(
  'a key after many %s, %s characters before the end of a shown response, is hidden',
  async (filler, before) => {
    const requestLog = createRequestLog({ signatureKey: KEY })
    const page = createInspector(requestLog, { token: TOKEN })
    const body = Buffer.from(`${filler.repeat(16 * 1024 - before)}${KEY}${'y'.repeat(100)}`)
    requestLog.add({
      receivedAt: new Date(),
      milliseconds: 1,
      method: 'POST',
      url: '/hook',
      headers: [],
      outcome: { kind: 'handled', status: 200, headers: {}, body: '' },
      status: 200,
      forwarded: { response: { status: 200, headers: [['x-key', KEY]], body } },
    } as never)
    const get = async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${TOKEN}` }
      return (await page.fetch(new Request(`http://app.example${path}`, { headers }))).text()
    }
    const [, id = ''] = /data-id="([^"]+)"/.exec(await get('/')) ?? []
    const text = await get(`/deliveries/${id}/attempts`)
    expect(text).toContain(filler.repeat(9))
    expect(text).toContain('x-key: ***')
    expect(text).not.toContain(`${filler}${filler}p`)
  },
)
