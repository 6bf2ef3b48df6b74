import { availableParallelism } from 'node:os'
import { AREAS } from './areas.mjs'

const area = process.env.MUTATION_AREA
const { mutate, usesBuild } = AREAS[area]

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  // Excludes modules for other platforms, because the tests of the areas run with the modules for Node.
  mutate: [...mutate, '!src/**/*.web.ts'],
  plugins: ['@stryker-mutator/*', './scripts/mutation/plugins.mjs'],
  ignorers: ['option-names'],
  checkers: ['sample'],
  testRunner: 'vitest',
  vitest: { configFile: 'scripts/mutation/vitest.config.ts', related: false },
  coverageAnalysis: usesBuild ? 'off' : 'perTest',
  ...(usesBuild ? { buildCommand: 'npx tsup --no-dts --silent' } : {}),
  jsonReporter: { fileName: `scripts/mutation/reports/${area}.json` },
  reporters: ['progress-append-only', 'json'],
  tempDirName: 'scripts/mutation/.tmp',
  ignorePatterns: [
    'bench',
    'docs',
    'examples',
    'dist',
    'scripts/mutation/reports',
    'test/runtimes',
    'test/consumers',
  ],
  // Milliseconds. The tests themselves end after 15 s, so this only ends changes that never return.
  timeoutMS: 20_000,
  // On a slow machine, the tests of explain take more than the default of 5 minutes.
  dryRunTimeoutMinutes: 20,
  // More than the cores, because many tests wait: for sockets, leases and retries.
  concurrency: availableParallelism() * 3,
  warnings: { slow: false },
}
