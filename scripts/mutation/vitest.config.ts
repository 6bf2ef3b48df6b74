import { defineConfig } from 'vitest/config'
import { TAGS } from '../../test/helpers/drivers.ts'
import { alias } from '../../vitest.config.ts'
import { AREAS } from './areas.mjs'

/** Runs the tests of the area in MUTATION_AREA. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: {
    include: [
      ...AREAS[process.env.MUTATION_AREA as keyof typeof AREAS].tests,
      'scripts/mutation/loads.test.ts',
    ],
    // Milliseconds. A test that hangs because of a change fails soon.
    testTimeout: 15_000,
    globalSetup: ['test/helpers/requirements.ts'],
    setupFiles: ['scripts/mutation/setup.ts'],
    tags: TAGS,
    isolate: false,
  },
})
