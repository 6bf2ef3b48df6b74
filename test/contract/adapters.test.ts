import { expect, it } from 'vitest'
import { MOUNTS } from '../helpers/mounts.ts'
import { adapterContract } from './adapters.ts'
import { CASES, CODES } from './cases/index.ts'

for (const [name, mount] of Object.entries(MOUNTS)) adapterContract(name, mount)

it('the contract has a case for every code, and no two of one name', () => {
  expect([...new Set(CASES.flatMap(({ codes = [] }) => codes))].sort()).toEqual(Object.keys(CODES).sort())
  expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length)
})
