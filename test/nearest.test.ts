import { expect, it } from 'vitest'
import { nearest } from '../src/options.ts'

const NAMES = ['limit', 'maxAge', 'observer', 'signatureKey', 'signatureKeys']

it.each([
  ['a missing letter', 'signatureKe', 'signatureKey'],
  ['an extra letter', 'limitt', 'limit'],
  ['a wrong letter', 'obserwer', 'observer'],
  ['two swapped letters', 'obsevrer', 'observer'],
  ['another case', 'SIGNATUREKEY', 'signatureKey'],
  ['the name itself', 'signatureKeys', 'signatureKeys'],
])('finds the name that was meant despite %s', (_, name, meant) => {
  expect(nearest(name, NAMES)).toBe(meant)
})

it.each([
  ['three edits', 'obervr1'],
  ['a short name that has little in common', 'mit'],
  ['an empty name', ''],
  ['a name as long as a body', 'limit'.repeat(1_000_000)],
])('finds nothing for %s', (_, name) => {
  expect(nearest(name, [...NAMES, ''])).toBeUndefined()
})
