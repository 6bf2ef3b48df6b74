import { defineConfig } from 'vitest/config'
import { alias, each } from './vitest.config.ts'

/** Files of one project run at the same time, and projects one after another. */
const project = (name: string, include: string, groupOrder: number, maxWorkers: number) => ({
  resolve: { alias: alias('node') },
  test: {
    name,
    ...each,
    include: [include],
    setupFiles: [],
    // Milliseconds, long enough for a busy machine.
    testTimeout: 120_000,
    maxWorkers,
    sequence: { groupOrder },
  },
})

/** Settings of `npm run test:browser`, which needs Chromium. */
export default defineConfig({
  test: {
    globalSetup: ['test/helpers/build.ts'],
    projects: [
      project('browser', 'test/browser/*.browser.ts', 0, 2),
      // Alone, because the test with 1,000 deliveries measures time.
      project('browser speed', 'test/browser/*.speed.ts', 1, 1),
    ],
  },
})
