import { inject } from 'vitest'
import { AREAS } from './areas.mjs'

const { mutate } = AREAS[process.env.MUTATION_AREA as keyof typeof AREAS]
/** The start of each pattern, without its wildcards. */
const prefixes = mutate.map((pattern) => `../../${pattern.replace(/[*!{].*/, '')}`)

/** Functions that each import a module of the area. */
export const loaders = Object.entries(import.meta.glob(['../../src/**/*.ts', '!../../src/**/*.web.ts']))
  .filter(([path]) => prefixes.some((prefix) => path.startsWith(prefix)))
  .map(([, load]) => load)

// Imports all modules before the tests. Otherwise, Stryker would count a module that a test imports as covered by that
// test only. loads.test.ts reports failed imports.
await Promise.allSettled(loaders.map((load) => load()))

// Processes that the tests start use the built package, and read this variable there.
const change = inject('activeMutant')
if (change === undefined) delete process.env.__STRYKER_ACTIVE_MUTANT__
else process.env.__STRYKER_ACTIVE_MUTANT__ = change
