import { expect, it } from 'vitest'
import { toErrorText } from '../../src/inbox/error-text.ts'

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
  ['a long message', 'x'.repeat(5_000), 'x'.repeat(2_000)],
  ['long messages', new AggregateError(['x'.repeat(5_000), 'y']), 'x'.repeat(2_000)],
  ['a value without text', Object.create(null), 'an unprintable error'],
])('describes %s', (_, error, text) => {
  expect(toErrorText(error)).toBe(text)
})
