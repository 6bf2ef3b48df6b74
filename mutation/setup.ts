import { loaders } from './modules.ts'

// A module that is first loaded inside a test counts as covered by this test alone. Failures are for loads.test.ts.
await Promise.allSettled(loaders.map((load) => load()))
