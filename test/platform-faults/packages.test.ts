import { expect, it, onTestFinished, vi } from 'vitest'
import { createGate } from '../helpers/gate.ts'

const CLOSED_PORT = '127.0.0.1:9'
const connectionString = `postgres://${CLOSED_PORT}/none`
const url = `redis://${CLOSED_PORT}`

/** Resolves when a package or a module is imported for the first time. */
function whenImported(name: string): Promise<void> {
  const { gate, release } = createGate()
  vi.doMock(name, async (importOriginal) => {
    release()
    return importOriginal()
  })
  onTestFinished(() => void vi.doUnmock(name))
  return gate
}

// If a package or a file were first imported while the process has no free file descriptor, Node 20 would never import
// it.
it.each<[string, readonly string[], () => Promise<{ close(): Promise<void> }>]>([
  [
    'createPostgresInbox',
    ['pg-boss'],
    async () => (await import('geohook/postgres')).createPostgresInbox({ connectionString }),
  ],
  [
    'createPostgresDuplicates',
    ['pg'],
    async () => (await import('geohook/postgres')).createPostgresDuplicates({ connectionString }),
  ],
  [
    'createRedisInbox',
    ['ioredis', 'bullmq'],
    async () => (await import('geohook/redis')).createRedisInbox({ url }),
  ],
  [
    'createRedisDuplicates',
    ['ioredis'],
    async () => (await import('geohook/redis')).createRedisDuplicates({ url }),
  ],
  [
    'work() with coalesce',
    ['../../src/receiver/join-events.ts'],
    async () => {
      const { createReceiver } = await import('geohook')
      const inbox = (await import('geohook/inbox')).createMemoryInbox()
      inbox.work(createReceiver({ signatureKey: 'parcels2026' }), { coalesce: { by: 'service' } })
      return inbox
    },
  ],
  [
    'createChanges',
    ['../../src/changes/engine.ts'],
    async () => {
      const { createChanges } = await import('geohook/changes')
      createChanges({ origins: ['http://127.0.0.1:9'] })
      return { close: async () => {} }
    },
  ],
])('%s loads its parts before the first delivery', async (_, packages, create) => {
  vi.resetModules()
  onTestFinished(() => void vi.resetModules())
  const imported = packages.map(whenImported)
  const store = await create()
  onTestFinished(() => store.close())
  await expect(Promise.all(imported)).resolves.toHaveLength(packages.length)
})
