import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const AFTER_SURROGATES = 0xe000
const SURROGATE_COUNT = AFTER_SURROGATES - FIRST_SURROGATE

/**
 * Generates any Unicode character, for `fc.string({ unit: character })`. It replaces fast-check's `unit: 'binary'`,
 * because that unit takes a second in each process to build a table of a million characters.
 */
export const character: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATE_COUNT })
  .map((index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATE_COUNT), toIndex)

function toIndex(value: unknown): number {
  const [first = '', ...rest] = String(value)
  const code = first.codePointAt(0) ?? FIRST_SURROGATE
  if (first !== value || rest.length > 0 || (code >= FIRST_SURROGATE && code < AFTER_SURROGATES))
    throw new Error('not a single character')
  return code < FIRST_SURROGATE ? code : code - SURROGATE_COUNT
}
