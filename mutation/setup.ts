import { loaders } from './modules.ts'

// Imports all modules before the tests, because Stryker would count a module imported inside a test as covered only by
// that test. loads.test.ts reports failures.
await Promise.allSettled(loaders.map((load) => load()))
