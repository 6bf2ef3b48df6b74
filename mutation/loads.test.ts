import { expect, it } from 'vitest'
import { loaders } from './modules.ts'

// A change that keeps a module from loading fails whole test files but no test, so that Stryker calls it unnoticed.
it('the modules of the room can be loaded', async () => {
  expect(loaders.length).toBeGreaterThan(0)
  for (const load of loaders) await load()
})
