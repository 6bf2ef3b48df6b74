import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url))

/** Tests import the package by its names, and get its source. */
const alias = (platform: 'node' | 'web') => ({
  '#hmac': source(`signature/hmac.${platform}.ts`),
  'geohook/express': source('adapters/express.ts'),
  'geohook/node': source('adapters/node.ts'),
  'geohook/testing': source('testing/index.ts'),
  'geohook/mock': source('mock/index.ts'),
  geohook: source('index.ts'),
})

export default defineConfig({
  test: {
    globalSetup: 'test/helpers/build.ts',
    projects: [
      {
        resolve: { alias: alias('node') },
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          typecheck: { enabled: true, include: ['test/types/*.test-d.ts'], tsconfig: 'tsconfig.test.json' },
        },
      },
      {
        // What does not depend on Node runs a second time over WebCrypto.
        resolve: { alias: alias('web') },
        test: {
          name: 'web',
          include: ['test/{signature,payload,receiver}/**/*.test.ts', 'test/properties.test.ts'],
        },
      },
    ],
  },
})
