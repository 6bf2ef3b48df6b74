import { availableParallelism } from 'node:os'
import { AREAS } from './areas.mjs'

const area = process.env.MUTATION_AREA

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  // Excludes modules for other platforms, because the tests of the areas run with the modules for Node.
  mutate: [...AREAS[area].mutate, '!src/**/*.web.ts'],
  plugins: ['@stryker-mutator/*', './mutation/ignored.mjs', './mutation/sample.mjs'],
  ignorers: ['option-names'],
  checkers: ['sample'],
  testRunner: 'vitest',
  vitest: { configFile: 'mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  jsonReporter: { fileName: `mutation/reports/${area}.json` },
  reporters: ['progress-append-only', 'json'],
  tempDirName: 'mutation/.tmp',
  ignorePatterns: [
    'bench',
    'docs',
    'examples',
    'dist',
    'mutation/reports',
    'test/runtimes',
    'test/consumers',
  ],
  // Milliseconds. The tests themselves end after 15 s, so this only ends changes that never return.
  timeoutMS: 20_000,
  // More than the cores, because many tests wait: for sockets, leases and retries.
  concurrency: availableParallelism() * 3,
  warnings: { slow: false },
}
