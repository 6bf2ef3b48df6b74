import { createReceiver } from 'geohook'
import { createPayload, createSigner, type PayloadDetails, type SignerOptions } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { base64Of, FORM_TYPE, KEY } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

/** What a sender of the family writes, besides the key and the header. */
type Sender = [name: string, dialect: PayloadDetails['dialect'], options: Partial<SignerOptions>]

const PREFIXES = ['', 'sha256='] as const
const ENCODINGS = ['hex', 'base64'] as const

const SENDERS: Sender[] = [
  ...ENCODINGS.flatMap((encoding) =>
    PREFIXES.map(
      (prefix): Sender => [
        `Enterprise: ${encoding}${prefix && ` after ${prefix}`}`,
        'service',
        { encoding, prefix },
      ],
    ),
  ),
  ['Online: base64 after sha256=', 'hosted', { encoding: 'base64', prefix: 'sha256=' }],
  ['Online: percent-encoded', 'hosted', { encoding: 'base64', prefix: 'sha256=', percentEncoded: true }],
  ...(['encoded', 'plain'] as const).flatMap((formPayload) =>
    (['header', 'field'] as const).map(
      (signatureIn): Sender => [
        `Online: a form with its payload ${formPayload} and its signature in the ${signatureIn}`,
        'hosted',
        { encoding: 'base64', prefix: 'sha256=', contentType: FORM_TYPE, formPayload, signatureIn },
      ],
    ),
  ),
  ['Enterprise: a form', 'service', { contentType: FORM_TYPE }],
  ['Enterprise: indented JSON', 'service', { payloadFormat: 'pjson' }],
]

describe("profile: 'arcgis' needs no other option for", () => {
  it.each(SENDERS)('%s', async (_, dialect, options) => {
    const recorder = createRecorder()
    const receiver = createReceiver({
      profile: 'arcgis',
      signatureKey: KEY,
      observer: recorder.observer,
    }).on('*', () => {})
    const signatureHeader = 'x-esriHook-Signature'
    const signer = createSigner({ signatureKey: KEY, signatureHeader, ...options })
    const payload = createPayload('FeaturesCreated', { dialect })
    for (const key of [KEY, 'another']) {
      const request = await (key === KEY
        ? signer
        : createSigner({ signatureKey: key, signatureHeader, ...options })
      ).sign(payload)
      const { status } = await receiver.fetch(new Request('http://a.example/', request))
      expect(status).toBe(key === KEY ? 200 : 401)
    }
    expect(recorder.lines).toEqual(['accepted', 'handled', 'refused signature_mismatch'])
    expect(recorder.calls[0]?.delivery).toMatchObject({
      profile: 'arcgis',
      payload,
      changeTypes: ['FeaturesCreated'],
    })
  })

  it('the handshake of Online', async () => {
    const receiver = createReceiver({ profile: 'arcgis', signatureKey: KEY, observer: {} })
    const answer = await receiver.fetch(new Request('http://a.example/?crc_token=abc'))
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { response_token: `sha256=${base64Of('abc')}` },
    ])
  })
})
