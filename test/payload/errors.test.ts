import { parsePayload } from 'geohook'
import { describe, expect, it } from 'vitest'

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

const parse = (body: string | Uint8Array, contentType = JSON_TYPE) => parsePayload({ body, contentType })
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('the message says what is wrong with the payload', () => {
  it.each<[string, string, string | Uint8Array, string]>([
    ['the body is not valid UTF-8', JSON_TYPE, new Uint8Array([0x22, 0xff, 0x22]), 'payload_malformed'],
    ['the payload is valid JSON, but neither an object nor an array', JSON_TYPE, '1', 'payload_malformed'],
    ['the payload is valid JSON, but neither an object nor an array', JSON_TYPE, 'null', 'payload_malformed'],
    ['the payload is not valid JSON', JSON_TYPE, '{', 'payload_malformed'],
    ['the payload is nested deeper than 64 levels', JSON_TYPE, nested(65), 'payload_malformed'],
    [
      'the payload contains the forbidden key __proto__',
      JSON_TYPE,
      '{"a":[{"__proto__":1}]}',
      'payload_malformed',
    ],
    [
      'the payload contains the forbidden key constructor',
      JSON_TYPE,
      '{"constructor":{"prototype":{}}}',
      'payload_malformed',
    ],
    ['the form is empty', FORM, '&&', 'payload_malformed'],
    ['the form has more than 1000 fields', FORM, 'a=1&'.repeat(1001), 'payload_malformed'],
    [
      'content-type says form, but the body looks like JSON: send content-type: application/json',
      FORM,
      ' {"a"=1',
      'payload_malformed',
    ],
    ['the form has an invalid percent-encoding in a field', FORM, 'a=%zz', 'payload_malformed'],
    [
      'the form has more than one field named payload',
      FORM,
      'payload=%7B%7D&payload=%7B%7D',
      'payload_malformed',
    ],
  ])('%s', (message, contentType, body, code) => {
    expect(parse(body, contentType)).toEqual({ ok: false, code, message })
  })
})

describe('limits', () => {
  it.each([
    ['64 levels', JSON_TYPE, nested(64)],
    ['a member called constructor', JSON_TYPE, '{"constructor":{"name":"Ott"}}'],
    ['a member called constructor that is null', JSON_TYPE, '{"constructor":null}'],
    ['a member called prototype', JSON_TYPE, '{"a":{"prototype":{}}}'],
    ['1000 fields', FORM, 'a=1&'.repeat(1000)],
    ['a field whose name contains a bracket', FORM, 'layers[0]=1&a"b=2&c{d=3'],
  ])('%s are accepted', (_, contentType, body) => {
    expect(parse(body, contentType).ok).toBe(true)
  })

  it.each(['utf-81', 'xutf-8', 'utf-8x', 'utf--8'])('the charset %s is rejected', (charset) => {
    expect(parse('{}', `application/json; charset=${charset}`)).toMatchObject({
      code: 'content_type_unsupported',
    })
  })

  it.each([
    'application/json;  charset=utf-16',
    'application/json;charset=utf-16',
    'application/json;\tcharset=utf-16',
  ])('finds the charset after any white space: %j', (contentType) =>
    expect(parse('{}', contentType)).toMatchObject({ code: 'content_type_unsupported' }),
  )
})

describe('members of an event', () => {
  const eventOf = (event: object, payload: object = {}) => {
    const parsed = parse(JSON.stringify({ ...payload, events: [{ eventType: 'FeaturesCreated', ...event }] }))
    if (!parsed.ok) throw new Error(parsed.message)
    return parsed.events[0]
  }

  it.each([
    ['1730385704000', 1730385704000],
    [1730385704000, 1730385704000],
    ['2024-10-31T14:41:44Z', Date.parse('2024-10-31T14:41:44Z')],
    ['x2024-10-31T14:41:44Z', undefined],
    ['room 2024-10-31T14:41', undefined],
    ['+002024-10-31T14:41:44Z', undefined],
    ['', undefined],
    ['12 parcels', undefined],
    [1.5, undefined],
    [null, undefined],
  ])('when %j is %j', (when, expected) => {
    expect(eventOf({ when })?.when?.getTime()).toBe(expected)
  })

  it.each([
    ['https%3a%2f%2fa.example%2fx', 'https://a.example/x'],
    ['http%3A%2F%2Fa.example%2Fx', 'http://a.example/x'],
    ['https://a.example/?u=http%3a%2f%2fb', 'https://a.example/?u=http%3a%2f%2fb'],
    ['', undefined],
    [7, undefined],
  ])('changesUrl %j is %j', (changesUrl, expected) => {
    expect(eventOf({}, { changesUrl })?.changesUrl).toBe(expected)
  })
})

it('reads strings in an array as change types', () => {
  const parsed = parse('["FeaturesCreated",{"serviceName":"Parcels","events":["FeaturesDeleted"]}]')
  expect(parsed.ok && parsed.changeTypes).toEqual(['FeaturesCreated', 'FeaturesDeleted'])
})

it('leaves out empty names in a list of change types', () => {
  const parsed = parse('changeTypes=FeaturesCreated,,%20,FeaturesDeleted', FORM)
  expect(parsed.ok && parsed.changeTypes).toEqual(['FeaturesCreated', 'FeaturesDeleted'])
})
