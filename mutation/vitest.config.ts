import { defineConfig } from 'vitest/config'
import { alias } from '../vitest.config.ts'
import { ROOMS } from './rooms.mjs'

/** The tests of one room, in this process. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: {
    include: [...ROOMS[process.env.MUTATION_ROOM as keyof typeof ROOMS].tests, 'mutation/loads.test.ts'],
    testTimeout: 30_000,
    setupFiles: ['mutation/setup.ts'],
    isolate: false,
  },
})
