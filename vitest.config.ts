import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import entries from './scripts/entries.json' with { type: 'json' }
import { TAGS } from './test/helpers/drivers.ts'
import { LongestFirst } from './test/helpers/longest-first.ts'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Maps the package's entries to their source. */
export const alias = (platform: 'node' | 'web') => [
  { find: '#runtime', replacement: source(`src/runtime/runtime.${platform}.ts`) },
  ...Object.entries(entries).map(([name, path]) => ({
    find: name === 'index' ? /^geohook$/ : `geohook/${name}`,
    replacement: source(path),
  })),
]

// More workers than cores, because tests wait for processes, sockets and leases.
const cores = availableParallelism()

/** A project whose tests import the built package, as users do. */
const project = (
  name: string,
  include: string[],
  test: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration => ({
  // Only for a few tests that import modules of `src`.
  resolve: { alias: alias('node').slice(0, 1) },
  test: {
    name,
    include,
    // Node loads the build itself: Vite would transform it again for each worker.
    server: { deps: { external: [/\/dist\//] } },
    // Milliseconds, long enough for a busy machine: only ends tests that hang.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // No isolation: starting a process and importing all modules for each file would take longer than most tests.
    isolate: false,
    maxWorkers: cores * 2,
    // V8's background threads would take the cores from other tests: they optimise code that soon is not needed.
    execArgv: ['--single-threaded', '--max-semi-space-size=32'],
    tags: TAGS,
    globalSetup: [source('test/helpers/requirements.ts')],
    setupFiles: [source('test/helpers/global-state.ts')],
    ...test,
  },
})

const web = project('web', [
  'test/signature/**/*.test.ts',
  'test/payload/decode.test.ts',
  'test/receiver/{outcomes,responses,web}.test.ts',
  'test/properties.test.ts',
])

/** `npm test` runs `node` and `web`. Each other project has a script in package.json, which `.ci/run` runs. */
export default defineConfig({
  test: {
    globalSetup: [source('test/helpers/build.ts')],
    sequence: { sequencer: LongestFirst },
    projects: [
      project('node', ['test/**/*.test.ts']),
      // Repeats tests that depend on the platform with WebCrypto, from the source.
      { ...web, resolve: { alias: alias('web') } },
      // Tests that need a server: PostgreSQL, Redis, RabbitMQ or NATS.
      project('engines', ['test/**/*.engine.ts']),
      // The package as users get it: its files, imports and size, and the examples in README, docs and `examples`.
      project('package', ['test/**/*.package.ts']),
      // Slow tests, for example of processes that are killed.
      project('long', ['test/**/*.long.ts'], {
        testTimeout: 600_000,
        hookTimeout: 600_000,
        maxWorkers: cores * 3,
        execArgv: [], // some of these tests measure memory
        // Fewer at a time than Vitest's default of 5: a check of a receiver that waits for a core takes too long to pass.
        maxConcurrency: 2,
      }),
      // The inspector's page in Chromium.
      project('browser', ['test/browser/*.browser.ts'], {
        globalSetup: [],
        setupFiles: [],
        maxWorkers: 2,
        sequence: { groupOrder: 1 },
      }),
      // Alone, because it compares times.
      project('browser speed', ['test/browser/*.speed.ts'], {
        globalSetup: [],
        setupFiles: [],
        maxWorkers: 1,
        sequence: { groupOrder: 2 },
      }),
    ],
  },
})
