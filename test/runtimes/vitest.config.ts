import { defineConfig } from 'vitest/config'
import { alias } from '../../vitest.config.ts'

/** `npm run test:runtimes`. Not part of `npm test`, because it installs a gigabyte of runtimes. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: {
    root: import.meta.dirname,
    globalSetup: 'install.ts',
    include: ['*.run.ts'],
    reporters: ['default', '../contract/matrix.ts'],
    hookTimeout: 30_000,
    // The contract has timeouts, and Next.js builds on every core.
    fileParallelism: false,
  },
})
