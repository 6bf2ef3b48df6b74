import { inspect } from 'node:util'
import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'
import { FAST, TOKEN } from './support.ts'

it('an error does not contain a token in the spelling of a form', async () => {
  const token = 'sec+ret/tok~='
  const server = await startHostile({
    extractChanges: {
      error: { code: 1, message: `got ${new URLSearchParams({ token })} and ${encodeURIComponent(token)}` },
    },
  })
  const changes = createChanges({ token, origins: [server.origin] })
  await expect(changes.of(server.event)).rejects.toMatchObject({
    message: expect.stringContaining('got token=*** and ***'),
  })
})

it('the state of a job that quotes the token is not in the error and not in a step', async () => {
  const server = await startHostile({ status: { status: `Waiting for ${TOKEN}` } })
  const states: unknown[] = []
  const changes = createChanges({
    token: TOKEN,
    origins: [server.origin],
    pollInterval: FAST,
    timeout: 3000,
    observer: { around: async ({ step, run }) => step === 'poll' && states.push((await run()).state) },
  })
  const error = await changes.of(server.event).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'changes_timeout', state: 'Waiting for ***' })
  expect(inspect(error)).not.toContain(TOKEN)
  expect(new Set(states)).toEqual(new Set(['Waiting for ***']))
})
