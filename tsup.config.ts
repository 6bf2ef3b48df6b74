import { defineConfig } from 'tsup'

/** What users import. */
const entry = {
  index: 'src/index.ts',
  node: 'src/adapters/node.ts',
  express: 'src/adapters/express.ts',
  testing: 'src/testing/index.ts',
  mock: 'src/mock/index.ts',
}

export default defineConfig({
  entry: {
    ...entry,
    // The two sides of #hmac: which one is taken is decided where geohook is used, by "imports" in package.json.
    'hmac.node': 'src/signature/hmac.node.ts',
    'hmac.web': 'src/signature/hmac.web.ts',
  },
  external: ['#hmac'],
  format: ['esm', 'cjs'],
  // Shared chunks, so that a WebhookError is the same class in every entry of a format.
  splitting: true,
  target: 'node20',
  platform: 'neutral',
  dts: process.argv.includes('--no-dts') ? false : { entry },
  clean: true,
})
