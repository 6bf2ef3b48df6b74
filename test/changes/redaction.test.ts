import { inspect } from 'node:util'
import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'
import { FAST, TOKEN } from './support.ts'

it.each([
  ['of a failed job', { status: { status: 'Failed', error: { code: 1, message: `bad ${TOKEN}` } } }],
  [
    'at the end of a long message',
    { extractChanges: { error: { code: 1, message: `${'x'.repeat(490)}${TOKEN}` } } },
  ],
])('an error does not contain a token that the service quotes %s', async (_, replies) => {
  const server = await startHostile(replies)
  const changes = createChanges({ token: TOKEN, origins: [server.origin], pollInterval: FAST })
  const error = await changes.of(server.event).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'changes_failed', serviceCode: 1 })
  expect(inspect(error)).not.toContain(TOKEN.slice(0, 8))
})
