import { defineConfig } from 'vitest/config'
import { alias, each, once } from './vitest.config.ts'

/** `npm run test:long`. Not part of `npm test`, because it starts and kills many processes, which takes long. */
export default defineConfig({
  resolve: { alias: alias('node') },
  test: { name: 'long', ...once, ...each, include: ['test/**/*.long.ts'] },
})
