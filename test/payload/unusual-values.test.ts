import { parsePayload } from 'geohook'
import { describe, expect, it } from 'vitest'

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

function read(payload: unknown) {
  const parsed = parsePayload({ body: JSON.stringify(payload), contentType: JSON_TYPE })
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed
}

const formOf = (body: string): unknown => {
  const parsed = parsePayload({ body, contentType: FORM })
  return parsed.ok ? parsed.payload : parsed.message
}

describe('media types', () => {
  it.each([
    ['application/json; charset=utf-8 ; profile=x', true],
    ['application/json ', true],
    ['application/geo+json; a="b,c;d"; charset=UTF8', true],
    ['application/geo.v2-1+json', true],
    ['application/+json', false],
    ['application/geo+jsonx', false],
    ['image/json', false],
    ['text/json,', false],
    ['application/json; charset="utf-16"', false],
    ['application/json; charset=', false],
    ['application/json; charset="utf,-8"', false],
    ['application/json; charset="utf;-8"', false],
  ])('%j is JSON: %j', (contentType, isJson) => {
    const parsed = parsePayload({ body: '{}', contentType })
    expect(parsed.ok ? true : parsed.code).toBe(isJson ? true : 'content_type_unsupported')
  })
})

describe('forms', () => {
  it.each<[string, unknown]>([
    ['a&b=1', { a: '', b: '1' }],
    ['=1', { '': '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1\n2', { a: '1\n2' }],
    // The parser expects JSON without percent-encoding only after `payload=` at the start of the body.
    ['12345678{"b":"payload=["}', { '12345678{"b":"payload': '["}' }],
    ['payload=[1]', [1]],
    ['payload=\t{"a":"%41"}', { a: '%41' }],
    ['payload=%7B%22a%22%3A1%7D&x-service', { a: 1 }],
  ])('%j is %j', (body, expected) => {
    expect(formOf(body)).toEqual(expected)
  })

  it('throws for a signature header that is not a string', () => {
    const profile = { signatureHeader: 7 as unknown as string }
    expect(() => parsePayload({ body: 'payload=1&a=2', contentType: FORM, profile })).toThrow(TypeError)
  })
})

describe('names of change types', () => {
  it.each<[unknown, string[]]>([
    [' ["A"]', ['A']],
    ['[oops', ['[oops']],
    ['{"a":["A"]}', ['{"a":["A"]}']],
    ['"a[b"', ['"a[b"']],
    [['["A"]'], ['["A"]']],
    ['[" A ","","B"]', ['A', 'B']],
  ])('changeTypes %j are %j', (changeTypes, expected) => {
    expect(read({ changeTypes }).changeTypes).toEqual(expected)
  })

  it('ignores empty names in a list', () => {
    expect(read({ changeTypes: 'A,, ,B,' }).events.map(({ changeType }) => changeType)).toEqual(['A', 'B'])
    expect(read({ changeTypes: [] }).events.map(({ changeType }) => changeType)).toEqual([''])
  })

  it.each<[unknown, string]>([
    [' A ', 'A'],
    [{ eventType: ' A\n' }, 'A'],
    [{ changeType: 'A', eventType: ' ' }, 'A'],
  ])('an event %j has %j', (event, expected) => {
    expect(read({ events: [event] }).changeTypes).toEqual([expected])
  })
})

describe('whole numbers', () => {
  it.each<[unknown, number | undefined]>([
    ['3', 3],
    ['12', 12],
    ['-5', -5],
    [-5, -5],
    ['1e3', undefined],
    ['1.5', undefined],
    ['1 ', undefined],
    ['--1', undefined],
    [[5], undefined],
    ['', undefined],
    [true, undefined],
    ['9007199254740993', undefined],
  ])('layerId %j is %j', (layerId, expected) => {
    expect(read({ layerId }).events[0]?.layerId).toBe(expected)
  })
})

describe('members of the payload', () => {
  it.each<[object, object]>([
    [{ id: 7, name: 8 }, { webhook: { id: '7', name: '8' } }],
    [{ statusUrl: 'https://a.example/' }, { statusUrl: 'https://a.example/' }],
    [{ statusURL: 'https://a.example/', statusUrl: 'x' }, { statusUrl: 'https://a.example/' }],
    [{ when: 5, lastUpdatedTime: 6 }, { when: new Date(5) }],
    [{ lastUpdatedTime: 6 }, { when: new Date(6) }],
    [{ when: 5, events: [{ eventType: 'A' }] }, { when: new Date(5) }],
    [{ when: 5, events: [{ eventType: 'A', when: 7 }] }, { when: new Date(7) }],
    [
      { folderName: 'F', serviceType: 'T' },
      { service: { folderName: 'F', serviceName: '', serviceType: 'T' } },
    ],
  ])('%j become %j', (payload, expected) => {
    expect(read(payload).events).toEqual([expect.objectContaining(expected)])
  })
})

describe('dialects', () => {
  const NO_SERVICE = { folderName: '', serviceName: '', serviceType: '' }

  it('does not read an array inside an array as an item of the hosted dialect', () => {
    expect(read([['A']]).events).toEqual([{ changeType: '', webhook: {}, service: NO_SERVICE, raw: ['A'] }])
  })

  it('reads null as an event without a service', () => {
    const event = { changeType: '', webhook: {}, service: NO_SERVICE, raw: null }
    expect(read([null]).events).toEqual([event])
    expect(read({ events: [null] }).events).toEqual([event])
  })

  it('reads an empty array as one event without a service', () => {
    expect(read([]).events).toEqual([{ changeType: '', webhook: {}, service: NO_SERVICE, raw: {} }])
  })

  it.each<[object, string[]]>([
    [{ info: [], events: [{ operation: 'add' }] }, ['']],
    [{ info: 'x', events: [{ operation: 'add' }] }, ['']],
    [{ info: {}, events: [] }, ['']],
    [{ info: {}, events: 'add' }, ['']],
    [{ info: {}, events: ['add', { operation: ' delete ' }, 7] }, ['add', 'delete', '']],
  ])('%j has the change types %j', (payload, expected) => {
    expect(read(payload).events.map(({ changeType }) => changeType)).toEqual(expected)
  })
})
