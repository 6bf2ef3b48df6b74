import { expect, it } from 'vitest'
import { loaders } from './modules.ts'

// A change that breaks the import of a module fails no test, only test files, which Stryker does not notice.
it('all modules of the area can be imported', async () => {
  expect(loaders.length).toBeGreaterThan(0)
  for (const load of loaders) await load()
})
