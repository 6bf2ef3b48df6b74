import { createReceiver } from 'geohook'
import { describe, expect, it } from 'vitest'
import { deliver, FORM_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

const JSON_BODY = payloadOf('FeaturesCreated')
const signed = (field: string): string => `${field}&x-service=${signatureOf(field.slice('payload='.length))}`

describe('the signature in a form field', () => {
  it.each<[string, string, string | undefined]>([
    ['is behind payload=', signed(`payload=${JSON_BODY}`), undefined],
    ['may be over nothing, which is no payload', signed('payload='), 'payload_malformed'],
    ['may be percent-encoded wholly', signed('payload={}').replace(/.{64}$/, percentEncoded), undefined],
    ['is not looked for behind another field', signed(`payloax=${JSON_BODY}`), 'signature_missing'],
    ['is not looked for behind a name in capitals', signed(`PAYLOAD=${JSON_BODY}`), 'signature_missing'],
    ['is not looked for where a field is before it', signed(`a=&payload=${JSON_BODY}`), 'signature_missing'],
    ['is not the only field', `x-service=${signatureOf('')}`, 'signature_missing'],
    [
      'is not in a field with a longer name',
      signed('payload={}').replace('x-s', 'ax-s'),
      'signature_missing',
    ],
    ['is malformed with a byte more', `${signed('payload={}')}0`, 'signature_malformed'],
    ['covers the bytes between', signed('payload={}').replace('{', ' {'), 'signature_mismatch'],
  ])('%s', async (_, body, code) => {
    const { observer, seen } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
    const { status } = await deliver(receiver, body, { 'content-type': FORM_TYPE, 'x-service': '' })
    expect([seen[0]?.error?.code, status === 200]).toEqual([code, code === undefined])
  })

  it('is not the payload itself, where that is the name of the signature header', async () => {
    const { observer, seen } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, signatureHeader: 'payload', observer })
    await deliver(receiver, 'payload=zz', { 'content-type': FORM_TYPE, 'x-service': '' })
    expect(seen[0]?.error?.code).toBe('signature_missing')
  })
})

function percentEncoded(text: string): string {
  return [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
}
