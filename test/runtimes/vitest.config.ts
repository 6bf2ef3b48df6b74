import { defineConfig } from 'vitest/config'
import { alias } from '../../vitest.config.ts'

/** Configures `npm run test:runtimes`. It installs a gigabyte of runtimes, so `npm test` does not include it. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: {
    root: import.meta.dirname,
    globalSetup: 'install.ts',
    include: ['*.run.ts'],
    reporters: ['default', '../contract/matrix.ts'],
    hookTimeout: 30_000,
    // Timeout tests of the contract would fail while the Next.js build uses every core.
    fileParallelism: false,
  },
})
