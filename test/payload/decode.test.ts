import { parsePayload } from 'geohook'
import { describe, expect, it } from 'vitest'

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const EVENT = { serviceName: 'P & Q = R + S %41', events: [{ eventType: 'FeaturesCreated' }] }

const parse = (body: string | Uint8Array, contentType: string | undefined = JSON_TYPE) =>
  parsePayload({ body, contentType })

const payloadOf = (body: string | Uint8Array, contentType?: string): unknown => {
  const parsed = parse(body, contentType)
  return parsed.ok ? parsed.payload : parsed.code
}

describe('media types', () => {
  it.each([
    JSON_TYPE,
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json;charset=utf8; profile=x',
    'application/vnd.service+json',
    'application/json; profile="https://a.example/x,y"; charset="utf-8"',
    'application/json; title="x; charset=latin1"',
    'text/json',
  ])('%s is JSON', (contentType) => {
    expect(payloadOf('{"a":1}', contentType)).toEqual({ a: 1 })
  })

  it.each([FORM, `${FORM}; charset=utf-8`, `${FORM.toUpperCase()} ;charset=UTF-8`])(
    '%s is a form',
    (contentType) => {
      expect(payloadOf('a=1', contentType)).toEqual({ a: '1' })
    },
  )

  it.each([
    '',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'xapplication/json',
    'application/json, application/json',
    'application/json; charset=iso-8859-1',
    `${FORM}; charset=latin1`,
    'application/json; charset=utf-16',
  ])('%j is rejected', (contentType) => {
    expect(payloadOf('{"a":1}', contentType)).toBe('content_type_unsupported')
  })

  it('a missing content type is rejected', () => {
    expect(parsePayload({ body: '{}', contentType: undefined })).toMatchObject({
      code: 'content_type_unsupported',
    })
  })
})

describe('JSON', () => {
  it.each<[string, string | Uint8Array]>([
    ['an empty body', ''],
    ['white space', ' \n'],
    ['half an object', '{"a":'],
    ['a text', '"a"'],
    ['a number', '1'],
    ['null', 'null'],
    ['true', 'true'],
    ['two objects', '{}{}'],
    ['a form', 'a=1'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['a surrogate in UTF-8', Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1')],
    ['an overlong slash', Buffer.from('{"a":"\xc0\xaf"}', 'latin1')],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['two byte order marks', '\ufeff\ufeff{}'],
    ['a prototype key', '{"a":{"__proto__":{"admin":true}}}'],
    ['an escaped prototype key', '{"\\u005f_proto__":1}'],
    ['a prototype through the constructor', '{"constructor":{"prototype":{"admin":true}}}'],
    ['a prototype key in an array', '[[{"__proto__":1}]]'],
    ['65 levels of arrays', '['.repeat(65) + ']'.repeat(65)],
    ['65 levels of objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    [
      'a prototype key in a string that is parsed as a list',
      '{"events":"[{\\"__proto__\\":{},\\"eventType\\":\\"A\\"}]"}',
    ],
    [
      '65 levels in a string that is parsed as a list',
      `{"changeTypes":"${'['.repeat(65)}${']'.repeat(65)}"}`,
    ],
    ['half a million levels', '['.repeat(500_000)],
    ['half a million closed levels', '['.repeat(250_000) + ']'.repeat(250_000)],
  ])('rejects %s', (_, body) => {
    expect(parse(body)).toMatchObject({ ok: false, code: 'payload_malformed' })
  })

  it('accepts 64 levels, one byte order mark, a lone surrogate, harmless names and big arrays', () => {
    expect(parse('['.repeat(64) + ']'.repeat(64)).ok).toBe(true)
    expect(payloadOf('\ufeff{"a":1}')).toEqual({ a: 1 })
    expect(payloadOf('{"a":"\\ud800"}')).toEqual({ a: '\ud800' })
    expect(payloadOf('{"constructor":"x","prototype":1}')).toEqual({ constructor: 'x', prototype: 1 })
    expect((payloadOf(JSON.stringify(Array(10_000).fill({ events: ['A'] }))) as unknown[]).length).toBe(
      10_000,
    )
  })

  it('ignores members that other code added to Object.prototype', () => {
    Object.assign(Object.prototype, { polluted: {} })
    try {
      expect(parse('{"events":[]}').ok).toBe(true)
    } finally {
      delete (Object.prototype as { polluted?: object }).polluted
    }
  })

  it('never repeats the body in an error', () => {
    const parsed = parse('{"secret-in-body": oops}')
    expect(JSON.stringify(parsed)).not.toContain('oops')
  })
})

describe('forms', () => {
  const encoded = encodeURIComponent(JSON.stringify(EVENT))

  it.each<[string, string]>([
    ['payload percent-encoded', `payload=${encoded}`],
    ['payload encoded as a form', new URLSearchParams({ payload: JSON.stringify(EVENT) }).toString()],
    ['payload encoded in lower case', `payload=${encoded.replace(/%../g, (code) => code.toLowerCase())}`],
    ['payload without encoding, containing & = + and %', `payload=${JSON.stringify(EVENT)}`],
    ['payload without encoding, with white space before it', `payload= ${JSON.stringify(EVENT)}`],
    ['payload before other fields', `payload=${encoded}&other=1`],
    ['payload after other fields', `other=1&payload=${encoded}`],
    ['payload before the signature field', `payload=${encoded}&x-service=00`],
    ['payload without encoding, before the signature field', `payload=${JSON.stringify(EVENT)}&x-service=00`],
    ['the signature field in another case', `payload=${JSON.stringify(EVENT)}&X-Service=00`],
  ])('reads %s', (_, body) => {
    expect(payloadOf(body, FORM)).toEqual(EVENT)
  })

  it('reads a list in the payload field without encoding', () => {
    expect(payloadOf('payload=[{"a":"x&y=z"}]', FORM)).toEqual([{ a: 'x&y=z' }])
  })

  it('builds the payload from plain fields, with a list for a repeated one', () => {
    const body =
      'serviceName=Parcels&changeTypes=FeaturesCreated%2CMine&id=7&tag=a&tag=b&empty=&+x+=%C3%A9+%2B'
    const parsed = parse(body, FORM)
    expect(parsed).toMatchObject({
      payload: { serviceName: 'Parcels', id: '7', tag: ['a', 'b'], empty: '', ' x ': '\u00e9 +' },
      changeTypes: ['FeaturesCreated', 'Mine'],
      events: [{ webhook: { id: '7' }, service: { serviceName: 'Parcels' } }, {}],
    })
  })

  it('accepts JSON in plain fields that are lists', () => {
    const events = encodeURIComponent('[{"eventType":"FeaturesCreated","when":1730385704000}]')
    const parsed = parse(`serviceName=Parcels&events=${events}`, FORM)
    expect(parsed).toMatchObject({
      events: [{ changeType: 'FeaturesCreated', when: new Date(1730385704000) }],
    })
    expect(parse(`changeTypes=${encodeURIComponent('["A","B"]')}`, FORM)).toMatchObject({
      changeTypes: ['A', 'B'],
    })
    expect(parse('changeTypes=A&changeTypes=B', FORM)).toMatchObject({ changeTypes: ['A', 'B'] })
  })

  it.each<[string, string | Uint8Array]>([
    ['an empty body', ''],
    ['only separators', '&&'],
    ['invalid percent-encoding', 'a=%zz'],
    ['truncated percent-encoding', 'a=%4'],
    ['percent-encoding that is not UTF-8', 'a=%ff'],
    ['raw bytes that are not UTF-8', Buffer.from('a=\xff', 'latin1')],
    ['two payloads', 'payload=%7B%7D&payload=%7B%7D'],
    ['a payload that is not JSON', 'payload=hello'],
    ['a payload that is a number', 'payload=1'],
    ['an empty payload', 'payload='],
    ['more than 1000 fields', 'a=1&'.repeat(1001)],
    ['a prototype key', '__proto__=1'],
    ['a prototype key, encoded', '%5F_proto__=1'],
    ['a prototype key in the payload', `payload=${encodeURIComponent('{"__proto__":1}')}`],
  ])('rejects %s', (_, body) => {
    expect(parse(body, FORM)).toMatchObject({ ok: false, code: 'payload_malformed' })
  })

  it('rejects a JSON body that claims to be a form', () => {
    for (const body of [
      '{"note":"x&changeTypes=FeaturesDeleted&y="}',
      ' [1,"&events=x"]',
      '"x&changeTypes=FeaturesDeleted&y="',
      encodeURIComponent('{"a":1}'),
    ]) {
      expect(payloadOf(body, FORM)).toBe('payload_malformed')
    }
  })

  it('accepts 1000 fields', () => {
    expect(
      Object.keys(payloadOf(Array.from({ length: 1000 }, (_, i) => `f${i}=1`).join('&'), FORM) as object)
        .length,
    ).toBe(1000)
  })

  it('accepts the name of the signature field inside JSON that is not percent-encoded', () => {
    const payload = { ...EVENT, name: 'x&x-service=y' }
    expect(payloadOf(`payload=${JSON.stringify(payload)}`, FORM)).toEqual(payload)
    expect(payloadOf(`payload=${JSON.stringify(payload)}&x-service=${'0'.repeat(64)}`, FORM)).toEqual(payload)
  })

  it('looks for the signature field of the profile', () => {
    const body = `payload=${JSON.stringify(EVENT)}&x-esriHook-Signature=sha256%3d00`
    const profile = { signatureHeader: 'x-esriHook-Signature' }
    expect(parsePayload({ body, contentType: FORM, profile })).toMatchObject({ ok: true, payload: EVENT })
  })
})
