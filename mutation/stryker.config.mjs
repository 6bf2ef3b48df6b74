import { AREAS } from './areas.mjs'

const area = process.env.MUTATION_AREA

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  // Excludes modules for other platforms, because the tests of the areas run with the modules for Node.
  mutate: [...AREAS[area].mutate, '!src/**/*.web.ts'],
  testRunner: 'vitest',
  vitest: { configFile: 'mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  incremental: true,
  incrementalFile: `mutation/reports/${area}.incremental.json`,
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
  timeoutMS: 20_000,
  warnings: { slow: false },
}
