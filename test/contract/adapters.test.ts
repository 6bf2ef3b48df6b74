import { expect, it } from 'vitest'
import entries from '../../scripts/entries.json' with { type: 'json' }
import { MOUNTS } from '../helpers/mounts.ts'
import { adapterContract } from './adapters.ts'
import { CASES, CODES } from './cases/index.ts'

for (const [name, { mount }] of Object.entries(MOUNTS)) adapterContract(name, mount)

it('the matrix covers every adapter', () => {
  const adapters = Object.entries(entries).filter(([, path]) => path.startsWith('src/adapters/'))
  const mounted = new Set<string>(Object.values(MOUNTS).map(({ entry }) => entry))
  expect([...mounted].sort()).toEqual(['index', ...adapters.map(([entry]) => entry)].sort())
})

it('the contract has a case for every error code, and unique case names', () => {
  expect([...new Set(CASES.flatMap(({ codes = [] }) => codes))].sort()).toEqual(Object.keys(CODES).sort())
  expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length)
})
