import { expect } from 'vitest'
import { KEY, urlOf } from './example.ts'
import { startLoad } from './load.ts'
import { startNode } from './process.ts'

/** Stops a server under load. Checks that it responds to every request that it has received, and then exits. */
export async function expectShutdown(
  args: readonly string[],
  { env = {}, signal = 'SIGTERM' as NodeJS.Signals } = {},
): Promise<void> {
  const app = startNode(['--import', './test/helpers/hosts/no-keep-alive-timeout.mjs', ...args], {
    ...env,
    SIGNATURE_KEY: KEY,
    PORT: '0',
  })
  try {
    const load = startLoad(await urlOf(app), KEY)
    await load.answered(100)
    expect(await app.stop(signal)).toBe(0)
    const unexpected = (await load.ended).filter((result) => ![200, 202, 503].includes(result as number))
    expect(unexpected).toEqual([])
  } finally {
    await app.stop('SIGKILL')
  }
}
