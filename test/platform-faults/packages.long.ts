import { expect, it, onTestFinished } from 'vitest'
import { startNode } from '../helpers/process.ts'

const CREATE = {
  createPostgresInbox: `createPostgresInbox({ connectionString: 'postgres://127.0.0.1:9/none' })`,
  createPostgresDuplicates: `createPostgresDuplicates({ connectionString: 'postgres://127.0.0.1:9/none' })`,
  'work() with coalesce': `createMemoryInbox().work(createReceiver({ signatureKey: 'parcels2026' }), { coalesce: { by: 'service' } })`,
}

const hooks = new URL('./apps/print-imports.mjs', import.meta.url).href

// If a package or a file were first imported while the process has no free file descriptor, Node 20 would never import
// it.
it.each<[keyof typeof CREATE, entries: string, parts: readonly RegExp[]]>([
  ['createPostgresInbox', 'geohook/postgres', [/^import pg$/m]],
  ['createPostgresDuplicates', 'geohook/postgres', [/^import pg$/m]],
  ['work() with coalesce', 'geohook geohook/inbox', [/^import \.\/join-events-\w+\.js$/m]],
])('%s loads its parts before the first delivery', async (name, entries, parts) => {
  const imports = entries.split(' ').map((entry) => `...await import('${entry}')`)
  const names = CREATE[name].match(/create\w+/g)
  const app = startNode([
    '--input-type=module',
    '--eval',
    `import { register } from 'node:module'
    register(${JSON.stringify(hooks)})
    const { ${names?.join()} } = { ${imports.join()} }
    console.log('imported')
    ${CREATE[name]}
    setInterval(() => {}, 60_000)`,
  ])
  onTestFinished(async () => void (await app.stop('SIGKILL')))
  await app.printed(/imported/)
  const [before = ''] = app.stdout.split('imported')
  for (const part of parts) {
    expect(before).not.toMatch(part)
    await app.printed(part)
  }
})
