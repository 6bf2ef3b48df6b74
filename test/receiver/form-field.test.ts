import { createReceiver } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, FORM_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

const JSON_BODY = payloadOf('FeaturesCreated')
const signed = (field: string): string => `${field}&x-service=${signatureOf(field.slice('payload='.length))}`

describe('the signature in a form field', () => {
  it.each<[string, string, string | undefined]>([
    ['is found after payload=', signed(`payload=${JSON_BODY}`), undefined],
    ['may sign an empty payload, which is malformed', signed('payload='), 'payload_malformed'],
    ['may be completely percent-encoded', signed('payload={}').replace(/.{64}$/, percentEncoded), undefined],
    ['is ignored after another field', signed(`payloax=${JSON_BODY}`), 'signature_missing'],
    ['is ignored after a field in capitals', signed(`PAYLOAD=${JSON_BODY}`), 'signature_missing'],
    ['is ignored if another field comes first', signed(`a=&payload=${JSON_BODY}`), 'signature_missing'],
    ['is ignored as the only field', `x-service=${signatureOf('')}`, 'signature_missing'],
    [
      'is ignored in a field with a longer name',
      signed('payload={}').replace('x-s', 'ax-s'),
      'signature_missing',
    ],
    ['is malformed with an extra byte', `${signed('payload={}')}0`, 'signature_malformed'],
    ['covers the bytes between', signed('payload={}').replace('{', ' {'), 'signature_mismatch'],
  ])('%s', async (_, body, code) => {
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
    const { status } = await deliver(receiver, body, { 'content-type': FORM_TYPE, 'x-service': '' })
    expect([calls[0]?.error?.code, status === 200]).toEqual([code, code === undefined])
  })

  it.each(['text/plain', 'multipart/form-data; boundary=x', ''])(
    'is ignored in a body with the content type %j',
    async (contentType) => {
      const { observer, calls } = createRecorder()
      const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
      const headers = { 'content-type': contentType, 'x-service': '' }
      await deliver(receiver, signed(`payload=${JSON_BODY}`), headers)
      expect(calls.map(({ code }) => code)).toEqual(['signature_missing'])
    },
  )

  it('is not the payload itself if the signature header is named payload', async () => {
    const { observer, calls } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, signatureHeader: 'payload', observer })
    await deliver(receiver, 'payload=zz', { 'content-type': FORM_TYPE, 'x-service': '' })
    expect(calls[0]?.error?.code).toBe('signature_missing')
  })
})

function percentEncoded(text: string): string {
  return [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
}
