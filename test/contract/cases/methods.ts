import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { send } from '../../helpers/http.ts'
import { linesOf } from '../subject.ts'
import { BODY, type ContractCase, JSON_TYPE } from './case.ts'

const KEY = 'parcels2026'

const refused = (method: string): ContractCase => ({
  name: `responds to ${method} with 405 and the allowed methods`,
  codes: ['method_not_allowed'],
  async run(start) {
    const subject = await start('plain')
    const answer = await send(subject.url, { method })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
    expect(await linesOf(subject)).toEqual(['refused method_not_allowed'])
  },
})

/** Cases for the handshake, and for methods other than POST. */
export const METHODS: readonly ContractCase[] = [
  ...['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].map(refused),
  {
    name: 'responds to a handshake, then accepts a signed delivery',
    async run(start) {
      const subject = await start('handshake')
      const token = 'f3a1-b2_c.d~e+/='
      const expected = createHmac('sha256', KEY).update(token).digest('base64')
      const url = `${subject.url}?a=b&crc_token=${encodeURIComponent(token)}`
      expect(await send(url, { method: 'GET' })).toMatchObject({
        status: 200,
        text: `{"response_token":"sha256=${expected}"}`,
      })
      const headers = {
        'content-type': JSON_TYPE,
        'x-esriHook-Signature': `sha256=${createHmac('sha256', KEY).update(BODY).digest('base64')}`,
      }
      expect((await send(subject.url, { headers, body: BODY })).status).toBe(200)
      expect((await send(subject.url, { method: 'PUT' })).headers.allow).toBe('GET, POST')
    },
  },
  {
    name: 'gives the usual response to a handshake without a key, and reports it to the observer',
    async run(start) {
      const subject = await start('handshakeWithoutKey')
      const ask = async (query: string) => {
        const answer = await send(`${subject.url}?${query}`, { method: 'GET' })
        expect([answer.status, answer.headers['content-type']]).toEqual([200, JSON_TYPE])
        return answer.text
      }
      const text = await ask('crc_token=abc')
      expect(text).toMatch(/^\{"response_token":"sha256=[A-Za-z0-9+/]{43}="\}$/)
      expect(text).not.toContain(createHmac('sha256', '').update('abc').digest('base64'))
      expect(await ask('a=b&crc_token=abc')).toBe(text)
      expect(await ask('crc_token=abd')).not.toBe(text)
      expect(await linesOf(subject)).toEqual(new Array(3).fill('refused key_unknown'))
    },
  },
  {
    name: 'rejects a handshake without a valid token with 400',
    codes: ['handshake_invalid'],
    async run(start) {
      const subject = await start('handshake')
      const twice = '?crc_token=a&crc_token=b'
      const queries = ['', '?crc_token=', '?crc_token=%7B%7D']
      if (subject.host.keepsLast) {
        // The host passes on only the last token.
        expect((await send(subject.url + twice, { method: 'GET' })).status).toBe(200)
      } else queries.push(twice)
      for (const query of queries) {
        const answer = await send(subject.url + query, { method: 'GET' })
        expect([answer.status, JSON.parse(answer.text).code]).toEqual([400, 'handshake_invalid'])
      }
    },
  },
]
