import { ROOMS } from './rooms.mjs'

const room = process.env.MUTATION_ROOM

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  // The web modules run on other platforms, where the contract tests are.
  mutate: [...ROOMS[room].mutate, '!src/**/*.web.ts'],
  testRunner: 'vitest',
  vitest: { configFile: 'mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  incremental: true,
  incrementalFile: `mutation/reports/${room}.incremental.json`,
  jsonReporter: { fileName: `mutation/reports/${room}.json` },
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
