import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    node: 'src/adapters/node.ts',
    express: 'src/adapters/express.ts',
    testing: 'src/testing/index.ts',
    mock: 'src/mock/index.ts',
    'hmac.node': 'src/signature/hmac.node.ts',
    'hmac.web': 'src/signature/hmac.web.ts',
  },
  format: ['esm', 'cjs'],
  // Shared chunks, so that a WebhookError is the same class in every entry.
  splitting: true,
  // Which platform is picked is decided where geohook is used, by "imports" in package.json.
  external: ['#hmac'],
  target: 'node20',
  platform: 'neutral',
  dts: !process.argv.includes('--no-dts'),
  clean: true,
})
