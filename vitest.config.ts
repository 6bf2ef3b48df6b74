import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import entries from './entries.json' with { type: 'json' }
import { TAGS } from './test/helpers/drivers.ts'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Tests import the package by its names, and get its source. */
export const alias = (platform: 'node' | 'web') => [
  { find: '#hmac', replacement: source(`src/signature/hmac.${platform}.ts`) },
  { find: '#platform', replacement: source(`src/receiver/platform.${platform}.ts`) },
  { find: '#diagnose', replacement: source('src/signature/explain/diagnose.ts') },
  ...Object.entries(entries).map(([name, path]) => ({
    find: name === 'index' ? /^geohook$/ : `geohook/${name}`,
    replacement: source(path),
  })),
]

/** What comes before all tests, and how many files run at a time. */
export const once = {
  globalSetup: [source('test/helpers/build.ts'), source('test/helpers/reach.ts')],
  // More than cores: these tests wait for processes, sockets and leases more than they compute.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
}

/** What holds for each test file. */
export const each = {
  // Milliseconds that a test may take, unless it says so itself: a machine that is busy is no mistake of the program.
  testTimeout: 30_000,
  hookTimeout: 30_000,
  // Starting a process and importing everything for each file takes longer than most files.
  isolate: false,
  tags: TAGS,
  setupFiles: [source('test/helpers/process-wide.ts')],
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
        // What does not depend on Node runs a second time over WebCrypto.
        resolve: { alias: alias('web') },
        test: {
          name: 'web',
          ...each,
          include: ['test/{signature,payload,receiver}/**/*.test.ts', 'test/properties.test.ts'],
        },
      },
    ],
  },
})
