import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { alias, each, once } from './vitest.config.ts'

/** Settings of `npm run test:long`. Not part of `npm test`, because starting and killing processes takes long. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: {
    name: 'long',
    ...once,
    ...each,
    // More than in vitest.config.ts, because these tests wait even longer.
    maxWorkers: availableParallelism() * 3,
    // Fewer at a time than Vitest's default of 5: a check of a receiver that waits for a core takes too long to pass.
    maxConcurrency: 2,
    // Milliseconds. Only ends tests that hang: on a busy machine, some take minutes.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    include: ['test/**/*.long.ts'],
  },
})
