import { checkReceiver } from 'geohook/check'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { FLAWS } from './flawed/flaws.ts'
import { serveFlawed } from './flawed/serve.ts'
import { idsOf } from './receiver.ts'

// flawed.long.ts runs all scenarios against each of them.
it.each(Object.entries(FLAWS))('finds a receiver that %s', async (_, flaw) => {
  const { timeout = 2_000, finds, triggers = [] } = flaw
  await using server = await serveFlawed(timeout, flaw)
  const { url, observer, failHandler } = server
  const report = await checkReceiver({
    url,
    observer,
    failHandler,
    unknownUrl: `${url}unknown`,
    signatureKey: KEY,
    profile: flaw.profile,
    timeout,
    sideEffects: true,
    only: [...finds, ...triggers],
  })
  expect(idsOf(report, 'failed')).toEqual(expect.arrayContaining([...finds]))
})
