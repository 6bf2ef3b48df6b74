import { loaders } from './modules.ts'

// Imports all modules before the tests. Otherwise, Stryker would count a module that a test imports as covered by that
// test only. loads.test.ts reports failed imports.
await Promise.allSettled(loaders.map((load) => load()))
