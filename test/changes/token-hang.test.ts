import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { startHostile } from './contract/hostile-server.ts'

it('a token source that did not answer once is asked again by the next call', async () => {
  const server = await startHostile()
  let calls = 0
  const token = (): Promise<string> =>
    calls++ === 0 ? new Promise(() => {}) : Promise.resolve('second-token')
  const changes = createChanges({
    token,
    origins: [server.origin],
    timeout: 5000,
    pollInterval: { min: 1, max: 2 },
  })
  await expect(changes.of(server.event)).rejects.toMatchObject({ code: 'changes_timeout' })
  expect((await changes.of(server.event)).layers).toHaveLength(1)
})
