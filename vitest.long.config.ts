import { defineConfig } from 'vitest/config'
import { alias, each, once } from './vitest.config.ts'

/** `npm run test:long`: not a part of `npm test`, because it kills, and starts, many processes that take their time. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: { name: 'long', ...once, ...each, include: ['test/**/*.long.ts'] },
})
