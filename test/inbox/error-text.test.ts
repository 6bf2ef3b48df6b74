import { expect, it } from 'vitest'
import { toErrorKind, toErrorText } from '../../src/inbox/error-text.ts'

/** Two errors that are each other's cause. */
function cycle(): Error {
  const one = Object.assign(new Error('one'), { code: 'EONE' })
  one.cause = Object.assign(new Error('two', { cause: one }), { code: 'ETWO' })
  return one
}

it.each([
  ['an error', new TypeError('no database'), 'TypeError: no database'],
  ['a text instead of an error', 'down', 'down'],
  ['NUL and a lone surrogate', new Error('a\0b\ud800'), 'Error: a b\ufffd'],
  [
    'several errors',
    new AggregateError([new Error('one'), 'two', new RangeError('three')]),
    'Error: one; two; RangeError: three',
  ],
  [
    'more than ten errors',
    new AggregateError(Array.from({ length: 12 }, (_, index) => index)),
    '0; 1; 2; 3; 4; 5; 6; 7; 8; 9',
  ],
  ['a long message', 'x'.repeat(5_000), 'x'.repeat(1_000)],
  [
    'long messages',
    new AggregateError(Array(5).fill('x'.repeat(999))),
    `${'x'.repeat(999)}; `.repeat(2).slice(0, 2_000),
  ],
  ['no messages of causes', new Error('a', { cause: new TypeError('b', { cause: 'c' }) }), 'Error: a'],
  ['a code', Object.assign(new Error('no unique key'), { code: '23505' }), 'Error: no unique key (23505)'],
  [
    'an address',
    new TypeError('failed', {
      cause: Object.assign(new Error('lookup'), { code: 'ENOTFOUND', hostname: 'a.test' }),
    }),
    'TypeError: failed (ENOTFOUND a.test)',
  ],
  [
    'a code and an address that the message has',
    Object.assign(new Error('connect EX 10.0.0.1:80'), { code: 'EX', address: '10.0.0.1', port: 80 }),
    'Error: connect EX 10.0.0.1:80',
  ],
  [
    'members of other types',
    Object.assign(new Error('a'), { code: { toString: () => 'secret' }, address: ['secret'] }),
    'Error: a',
  ],
  [
    'secrets in URLs',
    new Error('GET https://u:pw@a.test/?token=abc', { cause: new Error('https://b.test/?sig=abc&f=json') }),
    'Error: GET https://u:***@a.test/?token=***',
  ],
  ['a cycle of causes', cycle(), 'Error: one (EONE, ETWO)'],
  [
    'a cause that cannot be read',
    Object.defineProperty(new Error('a'), 'cause', {
      get: () => {
        throw new Error('b')
      },
    }),
    'Error: a',
  ],
  ['a value without text', Object.create(null), 'an unprintable error'],
])('describes %s', (_, error, text) => {
  expect(toErrorText(error)).toBe(text)
})

it.each([
  ['Error: HTTP 503 for layer 12', 'Error: HTTP 503 for layer 12'],
  ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 127.0.0.1:*'],
  ['id 0b6f1c5e-1111-4d7a-9d2e-5b8f3e9c7a10.', 'id *.'],
  ['key 7F3C9A1E0b2d, token=deadbeef, facade1', 'key *, token=deadbeef, facade1'],
  ['row 123 of 1234 in\n\t table_20261130', 'row 123 of * in table_*'],
  ['x'.repeat(300), 'x'.repeat(200)],
  [`${'x'.repeat(199)}😀`, 'x'.repeat(199)],
])('finds the kind of the error %s', (text, kind) => {
  expect(toErrorKind(text)).toBe(kind)
})
