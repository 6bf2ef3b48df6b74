import { expect, it } from 'vitest'
import { loaders } from './setup.ts'

// If a change breaks the import of a module, Vitest fails whole files, which Stryker ignores. This test fails instead.
it('all modules of the area can be imported', async () => {
  expect(loaders.length).toBeGreaterThan(0)
  for (const load of loaders) await load()
})
