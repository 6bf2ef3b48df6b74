import fc from 'fast-check'

const SURROGATES = 0xd800
const BEHIND = 0xe000
const GAP = BEHIND - SURROGATES

/**
 * One of all characters, for `fc.string({ unit: character })`. It gives what `unit: 'binary'` gives, without the table of a
 * million characters that takes a second in each process.
 */
export const character: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - GAP })
  .map((index) => String.fromCodePoint(index < SURROGATES ? index : index + GAP), toIndex)

function toIndex(value: unknown): number {
  const [one = '', ...others] = String(value)
  const code = one.codePointAt(0) ?? SURROGATES
  if (one !== value || others.length > 0 || (code >= SURROGATES && code < BEHIND))
    throw new Error('not one character')
  return code < SURROGATES ? code : code - GAP
}
