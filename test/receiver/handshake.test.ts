import { arcgis, createReceiver } from 'geohook'
import { describe, expect, it } from 'vitest'
import { base64Of, FORM_TYPE, JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { type ReceiverRequest, receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

const recorder = createRecorder()
const receiver = createReceiver({ signatureKey: KEY, profile: arcgis, observer: recorder.observer })

const ask = async (url: string) => {
  const read: ReceiverRequest['read'] = () => expect.unreachable()
  const { status, body } = await receiverPort(receiver).receive({ method: 'GET', url, headers: {}, read })
  return [status, JSON.parse(body).response_token ?? JSON.parse(body).code]
}

const longest = `${'a'.repeat(512)}==`

describe('a handshake', () => {
  it.each<[string, string]>([
    ['/hook?crc_token=a', 'a'],
    ['/hook?x=1&crc_token=a&y=2', 'a'],
    ['/hook?crc_token=a#crc_token=b', 'a'],
    ['/hook?x=?&crc_token=a', 'a'],
    ['?crc_token=a', 'a'],
    ['/hook?crc_token=aZ09_.~+/:-', 'aZ09_.~+/:-'],
    ['/hook?crc_token=a%2Bb+c', 'a+b+c'],
    ['/hook?crc_token=a=', 'a='],
    [`/hook?crc_token=${longest}`, longest],
  ])('signs the token of %s', async (url, token) => {
    expect(await ask(url)).toEqual([200, `sha256=${base64Of(token)}`])
  })

  it.each([
    '/hook',
    '/crc_token=a',
    '/hook?crc_token',
    '/hook?crc_token==',
    '/hook?crc_token=a===',
    '/hook?crc_token=a=b',
    '/hook?crc_token=%20a',
    '/hook?crc_token=a%20',
    '/hook?crc_token=a,b',
    '/hook?crc_token=&crc_token=',
    '/hook?CRC_TOKEN=a',
    `/hook?crc_token=a${longest}`,
    `/hook?crc_token=${longest}=`,
  ])('rejects %s', async (url) => {
    expect(await ask(url)).toEqual([400, 'handshake_invalid'])
  })

  it('rejects URLs of more than 8,000 characters', async () => {
    const pad = (length: number) => '/hook?crc_token=a&b='.padEnd(length, 'c')
    expect((await ask(pad(8_000)))[0]).toBe(200)
    expect((await ask(pad(8_001)))[0]).toBe(400)
  })
})

describe('a body that could be a handshake token', () => {
  const deliver = async (body: string, type: string) => {
    const bytes = Buffer.from(body)
    const { status, error } = await receiverPort(receiver).receive({
      method: 'POST',
      url: '/hook',
      headers: { 'content-type': type, 'x-esrihook-signature': signatureOf(bytes) },
      read({ onChunk }) {
        onChunk(bytes)
        return bytes
      },
    })
    return [status, error?.message]
  }

  it.each([
    ['a name', 'FeaturesCreated', FORM_TYPE],
    ['a field without a value', 'changeTypes=', FORM_TYPE],
    ['the longest', longest, FORM_TYPE],
    ['a number', '12', JSON_TYPE],
    ['the longest number', '1'.repeat(512), JSON_TYPE],
  ])('is rejected: %s', async (_, body, type) => {
    expect(await deliver(body, type)).toEqual([400, 'the body could be a handshake token'])
  })

  it.each([
    ['an object', '{}', JSON_TYPE],
    ['an array', '[]', JSON_TYPE],
    ['a field', 'changeTypes=FeaturesCreated', FORM_TYPE],
    ['a field without a value, over the longest token', `a${longest}`, FORM_TYPE],
  ])('cannot be %s, which is accepted', async (_, body, type) => {
    expect(await deliver(body, type)).toEqual([200, undefined])
  })
})
