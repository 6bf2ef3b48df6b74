import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import entries from './entries.json' with { type: 'json' }
import { TAGS } from './test/helpers/drivers.ts'
import { LongestFirst } from './test/helpers/longest-first.ts'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Maps the package's entries to their source. */
export const alias = (platform: 'node' | 'web') => [
  { find: '#hmac', replacement: source(`src/signature/hmac.${platform}.ts`) },
  { find: '#platform', replacement: source(`src/platform/platform.${platform}.ts`) },
  { find: '#diagnose', replacement: source('src/explain/diagnose.ts') },
  ...Object.entries(entries).map(([name, path]) => ({
    find: name === 'index' ? /^geohook$/ : `geohook/${name}`,
    replacement: source(path),
  })),
]

/** Settings of the whole test run. */
export const once = {
  globalSetup: [source('test/helpers/build.ts'), source('test/helpers/requirements.ts')],
  // More workers than cores, because the tests mostly wait for processes, sockets and leases.
  maxWorkers: availableParallelism() * 2,
  sequence: { sequencer: LongestFirst },
}

/** Settings of each test file. */
export const each = {
  // Timeouts in milliseconds, long enough for a busy machine.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // No isolation: starting a process and importing all modules for each file would take longer than most tests.
  isolate: false,
  tags: TAGS,
  setupFiles: [source('test/helpers/global-state.ts')],
}

export default defineConfig({
  test: {
    ...once,
    projects: [
      {
        resolve: { alias: alias('node') },
        test: {
          name: 'node',
          ...each,
          include: ['test/**/*.test.ts'],
        },
      },
      {
        // Runs the tests that do not depend on Node a second time, with WebCrypto.
        resolve: { alias: alias('web') },
        test: {
          name: 'web',
          ...each,
          include: [
            'test/{signature,payload,receiver}/**/*.test.ts',
            // The hypotheses are the same on both platforms, except that WebCrypto computes the signatures.
            'test/explain/{form,input,rewritten,signature}.test.ts',
            'test/properties.test.ts',
          ],
        },
      },
    ],
  },
})
