import { expect, it, onTestFinished, vi } from 'vitest'
import { createGate } from '../helpers/gate.ts'

const CLOSED_PORT = '127.0.0.1:9'
const connectionString = `postgres://${CLOSED_PORT}/none`
const url = `redis://${CLOSED_PORT}`

/** Resolves when a package is imported for the first time. */
function whenImported(name: string): Promise<void> {
  const { gate, release } = createGate()
  vi.doMock(name, async (importOriginal) => {
    release()
    return importOriginal()
  })
  onTestFinished(() => void vi.doUnmock(name))
  return gate
}

// If a package were first imported while the process has no free file descriptor, Node 20 would never import it.
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
])('%s loads its packages before the first delivery', async (_, packages, create) => {
  vi.resetModules()
  onTestFinished(() => void vi.resetModules())
  const imported = packages.map(whenImported)
  const store = await create()
  onTestFinished(() => store.close())
  await expect(Promise.all(imported)).resolves.toHaveLength(packages.length)
})
