import { inject } from 'vitest'
import { loaders } from './modules.ts'

// Imports all modules before the tests. Otherwise, Stryker would count a module that a test imports as covered by that
// test only. loads.test.ts reports failed imports.
await Promise.allSettled(loaders.map((load) => load()))

// Processes that the tests start use the built package, and read this variable there.
const change = inject('activeMutant')
if (change === undefined) delete process.env.__STRYKER_ACTIVE_MUTANT__
else process.env.__STRYKER_ACTIVE_MUTANT__ = change
