import { defineConfig } from 'vitest/config'
import { alias, each, once } from './vitest.config.ts'

/** Settings of `npm run test:long`. Not part of `npm test`, because starting and killing processes takes long. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: { name: 'long', ...once, ...each, include: ['test/**/*.long.ts'] },
})
